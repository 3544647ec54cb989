import { readFileSync } from 'node:fs';

/** A user of the system, as numbers; undefined stands for ourselves. */
export type OsUser = { uid: number; gid: number };

const unsigned = (text: string | undefined): number => Number(text) >>> 0;

/** The first user that a passwd file has of these. macOS lists its system users there too, with negative numbers. */
const named = (passwd: string, names: readonly string[]): OsUser | undefined => {
  const lines = passwd.split('\n').map((line) => line.split(':'));
  const fields = names.map((name) => lines.find((line) => line.length >= 4 && line[0] === name)).find((line) => line !== undefined);
  return fields && { uid: unsigned(fields[2]), gid: unsigned(fields[3]) };
};

/** Whom PostgreSQL is to run as: it refuses root, so then the user postgres, or else nobody. @throws where root has neither */
export const postgresUser = (uid = process.getuid?.(), passwd = () => readFileSync('/etc/passwd', 'utf8')): OsUser | undefined => {
  if (uid !== 0) return undefined;
  const account = named(passwd(), ['postgres', 'nobody']);
  if (!account) throw new Error('PostgreSQL refuses to run as root, and there is no user postgres or nobody; set DATABASE_URL');
  return account;
};
