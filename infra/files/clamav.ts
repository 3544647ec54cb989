import { connect, type Socket } from 'node:net';
import { Refusal } from '../../domain/refusal.ts';

/** The maximum time of one check, in milliseconds. */
const TIMEOUT_MS = 30_000;
/** In milliseconds. Less than the five seconds that `annals doctor` gives each check. */
const PING_TIMEOUT_MS = 4_000;
const CHUNK_BYTES = 65_536;
const MAX_ANSWER_BYTES = 4_096;

export type ClamavAddress = { readonly host: string; readonly port: number };

const unavailable = (): Refusal => new Refusal('unavailable', 'The virus scanner does not answer: try again', { retryAfter: 10 });

/** clamd's command INSTREAM: chunks with their lengths, and an empty chunk at the end. */
function* streamOf(bytes: Uint8Array): Generator<Uint8Array> {
  yield Buffer.from('zINSTREAM\0');
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES) {
    const chunk = bytes.subarray(at, at + CHUNK_BYTES);
    const length = Buffer.alloc(4);
    length.writeUInt32BE(chunk.length);
    yield length;
    yield chunk;
  }
  yield Buffer.alloc(4);
}

const send = (socket: Socket, bytes: Uint8Array): Promise<void> =>
  new Promise((resolve, reject) => socket.write(bytes, (error) => (error ? reject(error) : resolve())));

/** The answer ends with a zero byte or with the connection. */
const readAnswer = async (socket: Socket): Promise<string> => {
  let answer = '';
  for await (const chunk of socket as AsyncIterable<Buffer>) {
    answer += chunk.toString('latin1');
    if (answer.includes('\0') || answer.length > MAX_ANSWER_BYTES) break;
  }
  return answer.split('\0')[0]!.trim();
};

/** @throws Error if clamd does not answer in time */
const ask = async ({ host, port }: ClamavAddress, messages: Iterable<Uint8Array>, timeoutMs = TIMEOUT_MS): Promise<string> => {
  const socket = connect({ host, port });
  const timer = setTimeout(() => socket.destroy(new Error('timeout')), timeoutMs);
  // If clamd refuses a stream early, it closes the connection; the error of sending is ignored.
  const sending = (async () => {
    for (const message of messages) await send(socket, message);
  })().catch(() => {});
  try {
    return await readAnswer(socket);
  } finally {
    clearTimeout(timer);
    socket.destroy();
    await sending;
  }
};

export const pingClamav = async (address: ClamavAddress): Promise<boolean> =>
  (await ask(address, [Buffer.from('zPING\0')], PING_TIMEOUT_MS)) === 'PONG';

/**
 * Returns the name of the threat; null if there is none.
 * @throws Refusal unavailable, too_large if the file is larger than clamd accepts
 */
export const createVirusScan =
  (address: ClamavAddress) =>
  async (bytes: Uint8Array): Promise<string | null> => {
    const answer = await ask(address, streamOf(bytes)).catch(() => {
      throw unavailable();
    });
    if (answer === 'stream: OK') return null;
    const found = /^stream: ([!-~ ]{1,200}) FOUND$/.exec(answer);
    if (found) return found[1]!;
    if (/size limit exceeded/i.test(answer)) throw new Refusal('too_large', 'The file is larger than the virus scanner accepts');
    throw unavailable();
  };
