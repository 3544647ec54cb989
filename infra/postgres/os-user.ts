import { readFileSync } from 'node:fs';

/** A user of the operating system, by numeric ids. */
export type OsUser = { uid: number; gid: number };

const unsigned = (text: string | undefined): number => Number(text) >>> 0;

/** The first of these names that a passwd file contains. macOS lists its system users there too, with negative ids. */
const findUser = (passwd: string, names: readonly string[]): OsUser | undefined => {
  const lines = passwd.split('\n').map((line) => line.split(':'));
  const fields = names.map((name) => lines.find((line) => line.length >= 4 && line[0] === name)).find((line) => line !== undefined);
  return fields && { uid: unsigned(fields[2]), gid: unsigned(fields[3]) };
};

/**
 * The user that runs PostgreSQL; undefined: the user of this process. PostgreSQL refuses to run as root; then it is the
 * user postgres, or else nobody.
 * @throws Error if neither exists
 */
export const postgresUser = (uid = process.getuid?.(), passwd = () => readFileSync('/etc/passwd', 'utf8')): OsUser | undefined => {
  if (uid !== 0) return undefined;
  const user = findUser(passwd(), ['postgres', 'nobody']);
  if (!user) throw new Error('PostgreSQL refuses to run as root, and there is no user postgres or nobody: add one, or set DATABASE_URL');
  return user;
};
