import type { DatabaseAccess } from './linked-identity.ts';

/** Returns a text percent-encoded, including the characters that encodeURIComponent keeps and RFC 3986 reserves. */
const encode = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);

/**
 * Returns a database name as the path of a URL. Only `?` and `#`, which would end the path, are encoded besides what
 * encodeURI encodes: clients for Node.js read the path with decodeURI, which leaves other encoded punctuation as it is.
 * They misread only names that contain `?` or `#`.
 */
const encodePath = (name: string): string => encodeURI(name).replace(/[?#]/g, encodeURIComponent);

/** Returns the connection URL of a Postgres database, as libpq reads it. */
export const databaseUrl = ({ host, port, database, username, sslmode }: DatabaseAccess, password: string): string =>
  `postgresql://${encode(username)}:${encode(password)}@${host}:${port}/${encodePath(database)}?sslmode=${sslmode}`;
