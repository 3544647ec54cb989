import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http2';
import { join } from 'node:path';
import { replaceFile } from '../../durable-files.ts';
import { accessDenied, type Status } from './grpc-status.ts';
import { FEATURES, GOSSIP } from './server-info-handlers.ts';

/** Callers must send it as their connection name. The first start stores it in the store's directory. */
export const secretOf = (dir: string): string => {
  const path = join(dir, 'secret');
  if (!existsSync(path)) replaceFile(path, `${randomBytes(32).toString('base64url')}\n`);
  return readFileSync(path, 'utf8').trim();
};

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/** The client sends no connection name with these calls. They reveal only that a store is running. */
const PUBLIC_METHODS = new Set<unknown>([FEATURES, GOSSIP]);

export const requireSecret = (secret: string): ((headers: IncomingHttpHeaders) => Status | undefined) => {
  const expected = digest(secret);
  // The connection name contains the secret. The last accepted name is kept, so that its digest is not computed for every call.
  let accepted = '';
  return (headers) => {
    const name = String(headers['connection-name'] ?? '');
    if ((name !== '' && name === accepted) || PUBLIC_METHODS.has(headers[':path'])) return undefined;
    if (!timingSafeEqual(digest(name), expected)) return accessDenied;
    accepted = name;
    return undefined;
  };
};
