/** Why the database cannot be used, and what to do about it. */
export type DatabaseCause = { readonly cause: string; readonly advice: string };

type CauseRow = readonly [sqlState: RegExp, cause: string, advice: string];

/**
 * The SQLSTATE codes with which a database says that it cannot be used at the moment. A statement itself cannot cause
 * them. PostgreSQL answers with 42501 if it may not open one of its own files, too.
 */
const CAUSES: readonly CauseRow[] = [
  [/^53100/, 'its disk is full', 'free disk space for the database'],
  [/^53300/, 'all its connections are taken', 'raise max_connections of the database, or end other clients of it'],
  [/^53/, 'it lacks memory or open files', 'give the server of the database more memory or open files, and read its log'],
  [/^25006/, 'it is read-only', 'let DATABASE_URL name the primary server, and switch off default_transaction_read_only'],
  [/^42501/, 'it refuses the access', 'restore the permissions of the files of the database, and the rights of the user of DATABASE_URL'],
  [/^58|^XX00[12]/, 'its storage fails', 'read the log of the database, and check its disk and its files'],
  [/^57014/, 'it does not answer in time', 'look for long queries and a busy disk in the database'],
  [/^57/, 'it stops or starts', 'wait for it; if it does not come back, read the log of the database'],
  [/^28/, 'it refuses the user or the password', 'correct the user and the password in DATABASE_URL'],
  [/^3D/, 'it does not exist', 'create the database, or correct DATABASE_URL'],
  [/^08|^25P0[34]/, 'it has ended the connection', 'read the log of the database'],
];

const sqlStateOf = (error: unknown): string => String((error as { code?: unknown } | null)?.code ?? '');

/** Returns why the database cannot be used; null if the error does not say that it cannot. */
export const databaseCause = (error: unknown): DatabaseCause | null => {
  const row = CAUSES.find(([pattern]) => pattern.test(sqlStateOf(error)));
  return row ? { cause: row[1], advice: row[2] } : null;
};
