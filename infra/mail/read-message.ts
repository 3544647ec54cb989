import type { SMTPServerDataStream } from 'smtp-server';
import { addToShare, fitsShare, largestShare, newFairShare } from '../threads/fair-share.ts';
import { countChunk, emptyShape, MAX_MESSAGE_BYTES, refusalOfShape } from './message/message-shape.ts';
import { answer, type SmtpError } from './message/smtp-answer.ts';

/** The maximum number of bytes of incoming messages in memory, for all connections together. */
const MAX_BUFFERED_BYTES = 4 * MAX_MESSAGE_BYTES;
/** A tenant gets at most this part of the memory that the others leave. */
const TENANT_PART = 1 / 2;

/** `release` must be called when the bytes are no longer in use. */
export type ReadMessage = { readonly raw: ArrayBuffer; readonly release: () => void };

const TOO_MANY = '4.3.1 Too many messages arrive at the same time: try again';

/** Grows in place, so that a message is in memory once, however small its chunks are. */
const append = (raw: ArrayBuffer, size: number, chunk: Uint8Array): void => {
  raw.resize(size + chunk.length);
  new Uint8Array(raw).set(chunk, size);
};

const readInto = async (raw: ArrayBuffer, stream: AsyncIterable<Buffer>, take: (bytes: number) => boolean): Promise<void> => {
  const shape = emptyShape();
  let refusal: SmtpError | null = null;
  for await (const chunk of stream) {
    // The rest of a refused message is read and dropped: the client reads the answer only after it has sent everything.
    if (refusal) continue;
    countChunk(shape, chunk);
    refusal = refusalOfShape(shape) ?? (take(chunk.length) ? null : answer(452, TOO_MANY));
    if (refusal) raw.resize(0);
    else append(raw, shape.bytes - chunk.length, chunk);
  }
  if (refusal) throw refusal;
};

/** Creates a reader that reads messages into memory, and counts what makes their parsing slow. */
export const createMessageReader = ({ maxBytes = MAX_BUFFERED_BYTES } = {}) => {
  const memory = newFairShare(maxBytes);
  return {
    /**
     * Reads a message for a mailbox of this tenant.
     * @throws SmtpError 552 if the message is too large, 554 if it has too many parts or header lines, 452 if the memory
     * for messages is used up at present
     */
    read: async (tenant: string, stream: SMTPServerDataStream | AsyncIterable<Buffer>): Promise<ReadMessage> => {
      const raw = new ArrayBuffer(0, { maxByteLength: MAX_MESSAGE_BYTES });
      let taken = 0;
      const take = (bytes: number): boolean => {
        const isTaken = fitsShare(memory, tenant, bytes, TENANT_PART);
        if (isTaken) addToShare(memory, tenant, bytes);
        if (isTaken) taken += bytes;
        return isTaken;
      };
      const release = (): void => {
        addToShare(memory, tenant, -taken);
        taken = 0;
      };
      try {
        await readInto(raw, stream as AsyncIterable<Buffer>, take);
      } catch (error) {
        release();
        throw error;
      }
      return { raw: raw.transferToFixedLength(), release };
    },
    /** `largest` is what the tenant with most bytes uses. */
    usage: () => ({ bytes: memory.used, largest: largestShare(memory) }),
  };
};
