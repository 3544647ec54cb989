import { readFileSync } from 'node:fs';

/** A user of the system, as numbers; undefined stands for ourselves. */
export type Account = { uid: number; gid: number };

const unsigned = (text: string | undefined): number => Number(text) >>> 0;

/** What /etc/passwd says of a user. macOS lists its system users there too, with negative numbers. */
const inPasswd = (holds: (fields: string[]) => boolean): Account | undefined => {
  const fields = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
    .find((each) => each.length >= 4 && holds(each));
  return fields && { uid: unsigned(fields[2]), gid: unsigned(fields[3]) };
};

/** Whom PostgreSQL is to run as: it refuses root, so then the user postgres, or else nobody. @throws where root has neither */
export const accountFor = (uid = process.getuid?.()): Account | undefined => {
  if (uid !== 0) return undefined;
  const account = inPasswd(([name]) => name === 'postgres') ?? inPasswd(([name]) => name === 'nobody');
  if (!account) throw new Error('PostgreSQL refuses to run as root, and there is no user postgres or nobody; set DATABASE_URL');
  return account;
};
