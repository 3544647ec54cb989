import type { SMTPServerDataStream } from 'smtp-server';
import { countChunk, emptyShape, MAX_MESSAGE_BYTES, refusalOfShape } from './message-shape.ts';
import { answer, type SmtpError } from './smtp-answer.ts';

/** The maximum number of bytes of incoming messages in memory, for all connections together. */
const MAX_BUFFERED_BYTES = 4 * MAX_MESSAGE_BYTES;
/** The maximum for one tenant: a tenant that gets much mail leaves memory for the mail of the others. */
const MAX_TENANT_BYTES = MAX_BUFFERED_BYTES / 2;

type Buffers = { readonly maxBytes: number; readonly maxTenantBytes: number; used: number; readonly ofTenant: Map<string, number> };

const usedBy = ({ ofTenant }: Buffers, tenant: string): number => ofTenant.get(tenant) ?? 0;

const reserve = (buffers: Buffers, tenant: string, bytes: number): boolean => {
  const used = usedBy(buffers, tenant) + bytes;
  if (buffers.used + bytes > buffers.maxBytes || used > buffers.maxTenantBytes) return false;
  buffers.used += bytes;
  buffers.ofTenant.set(tenant, used);
  return true;
};

const release = (buffers: Buffers, tenant: string, bytes: number): void => {
  const used = usedBy(buffers, tenant) - bytes;
  buffers.used -= bytes;
  if (used > 0) buffers.ofTenant.set(tenant, used);
  else buffers.ofTenant.delete(tenant);
};

/** A message in memory. `release` must be called when its bytes are no longer in use. */
export type ReadMessage = { readonly raw: ArrayBuffer; readonly release: () => void };

const TOO_MANY = '4.3.1 Too many messages arrive at the same time: try again';

/** Appends to a buffer that grows in place, so that a message is in memory once, however small its chunks are. */
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

/**
 * Creates a reader that reads messages into memory, and counts what makes their parsing slow.
 */
export const createMessageReader = ({ maxBytes = MAX_BUFFERED_BYTES, maxTenantBytes = MAX_TENANT_BYTES } = {}) => {
  const buffers: Buffers = { maxBytes, maxTenantBytes, used: 0, ofTenant: new Map() };
  return {
    /**
     * Reads a message for a mailbox of this tenant.
     * @throws SmtpError 552 if the message is too large, 554 if it has too many parts or header lines, 452 if the memory
     * for messages is used up at present
     */
    read: async (tenant: string, stream: SMTPServerDataStream | AsyncIterable<Buffer>): Promise<ReadMessage> => {
      const raw = new ArrayBuffer(0, { maxByteLength: MAX_MESSAGE_BYTES });
      let taken = 0;
      const releaseAll = (): void => {
        release(buffers, tenant, taken);
        taken = 0;
      };
      const take = (bytes: number): boolean => {
        const isTaken = reserve(buffers, tenant, bytes);
        if (isTaken) taken += bytes;
        return isTaken;
      };
      try {
        await readInto(raw, stream as AsyncIterable<Buffer>, take);
      } catch (error) {
        releaseAll();
        throw error;
      }
      return { raw: raw.transferToFixedLength(), release: releaseAll };
    },
  };
};
