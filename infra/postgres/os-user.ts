import { readFileSync } from 'node:fs';

/** The numeric ids of a user of the operating system. */
export type OsUser = { uid: number; gid: number };

const unsigned = (text: string | undefined): number => Number(text) >>> 0;

/** Returns the first of these users that is in a passwd file. On macOS, this file also contains system users with negative ids. */
const findUser = (passwd: string, names: readonly string[]): OsUser | undefined => {
  const lines = passwd.split('\n').map((line) => line.split(':'));
  const fields = names.map((name) => lines.find((line) => line.length >= 4 && line[0] === name)).find((line) => line !== undefined);
  return fields && { uid: unsigned(fields[2]), gid: unsigned(fields[3]) };
};

/**
 * Returns the user that runs PostgreSQL; undefined means the user of this process. PostgreSQL refuses to run as root.
 * If this process is root, the user is `postgres` or, if there is none, `nobody`.
 * @throws Error if this process is root and neither user exists
 */
export const postgresUser = (uid = process.getuid?.(), passwd = () => readFileSync('/etc/passwd', 'utf8')): OsUser | undefined => {
  if (uid !== 0) return undefined;
  const user = findUser(passwd(), ['postgres', 'nobody']);
  if (!user) throw new Error('PostgreSQL refuses to run as root, and there is no user postgres or nobody: add one, or set DATABASE_URL');
  return user;
};
