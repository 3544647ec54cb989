import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http2';
import { join } from 'node:path';
import { replaceFile } from '../../durable-files.ts';
import { denied, type Status } from './grpc-status.ts';
import { FEATURES, GOSSIP } from './server-info-handlers.ts';

/** The connection name that callers have to send: kept in the directory, made at the first start. */
export const secretOf = (dir: string): string => {
  const path = join(dir, 'secret');
  if (!existsSync(path)) replaceFile(path, `${randomBytes(32).toString('base64url')}\n`);
  return readFileSync(path, 'utf8').trim();
};

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/** The client asks these two without its connection name; they tell nothing but that a store is here. */
const free = new Set<unknown>([FEATURES, GOSSIP]);

/** Refuses every call that does not bear the secret as its connection name. */
export const admission = (secret: string): ((headers: IncomingHttpHeaders) => Status | undefined) => {
  const wanted = digest(secret);
  // A caller's name stays what it was when it was last compared: one digest per name, not per call.
  let admitted = '';
  return (headers) => {
    const name = String(headers['connection-name'] ?? '');
    if ((name !== '' && name === admitted) || free.has(headers[':path'])) return undefined;
    if (!timingSafeEqual(digest(name), wanted)) return denied;
    admitted = name;
    return undefined;
  };
};
