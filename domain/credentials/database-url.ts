import type { DatabaseAccess } from './linked-identity.ts';

/** Matches the characters that a URL may contain in a user name and a password, although encodeURIComponent keeps them. */
const KEPT = /[!'()*]/g;

const encode = (text: string): string =>
  encodeURIComponent(text).replace(KEPT, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);

/** Returns the connection URL of a Postgres database, as libpq reads it: its parts are percent-encoded. */
export const databaseUrl = ({ host, port, database, username, sslmode }: DatabaseAccess, password: string): string =>
  `postgresql://${encode(username)}:${encode(password)}@${host}:${port}/${encode(database)}?sslmode=${sslmode}`;
