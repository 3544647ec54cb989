import type { DatabaseAccess } from './linked-identity.ts';

/** Also encodes the characters that encodeURIComponent keeps and RFC 3986 reserves. */
const encode = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);

/**
 * Encodes only `?` and `#`, which would end the path, beyond encodeURI: Node.js clients read the path with decodeURI, which leaves other
 * encoded punctuation, and so misread only names with `?` or `#`.
 */
const encodePath = (name: string): string => encodeURI(name).replace(/[?#]/g, encodeURIComponent);

/** Returns the URL in the form that libpq reads. */
export const databaseUrl = ({ host, port, database, username, sslmode }: DatabaseAccess, password: string): string =>
  `postgresql://${encode(username)}:${encode(password)}@${host}:${port}/${encodePath(database)}?sslmode=${sslmode}`;
