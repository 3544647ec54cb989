import { existsSync, statSync } from 'node:fs';
import type { WrappedKeys } from '../../../domain/wrapped-key.ts';
import { openLog } from '../../eventstore/client.ts';
import { fail, none, ok, type Result, warn } from '../../health/finding.ts';
import { openMasterKeys } from '../../vault/master-keys.ts';
import { NAME_KEY, readWrappedKeys, unwrapKeys } from '../../vault/wrapped-keys.ts';

const RESTORE_ADVICE = 'restore it from its copy, or set MASTER_KEY_FILE to the key that this platform was started with';

type Problem = { readonly message: string; readonly advice: string };

/** An empty list if the platform has not been started yet; null if the log cannot be read. */
const wrappedKeysIn = async (url: string): Promise<WrappedKeys | null> => {
  const log = openLog(url);
  return readWrappedKeys(log, NAME_KEY.tenant, NAME_KEY.id)
    .catch(() => null)
    .finally(() => log.close());
};

const modeProblems = (file: string): Problem[] => {
  const mode = statSync(file).mode & 0o777;
  return mode & 0o077 ? [{ message: `other users can read ${file} (mode ${mode.toString(8)})`, advice: `chmod 600 ${file}` }] : [];
};

const keyProblems = async (file: string, wrapped: WrappedKeys | null): Promise<Problem[]> => {
  try {
    const masters = await openMasterKeys(file, false);
    await unwrapKeys(masters, NAME_KEY, wrapped ?? []);
    return [];
  } catch (error) {
    return [{ message: (error as Error).message, advice: RESTORE_ADVICE }];
  }
};

const missing = (file: string, wrapped: WrappedKeys | null): Result => {
  if (wrapped === null)
    return warn(`${file} does not exist; whether the log needs it was not checked`, 'start the event store, and run annals doctor again');
  if (wrapped.length === 0) return none(`${file} does not exist yet: the first start creates it`);
  return fail(`${file} does not exist, but the log contains keys that it encrypted`, RESTORE_ADVICE);
};

/** The key must exist, be readable only by the owner of its file, and decrypt a key of the log. Reports all problems. */
export const checkMasterKey = async (file: string, eventstoreUrl: string | null): Promise<Result> => {
  const wrapped = eventstoreUrl === null ? [] : await wrappedKeysIn(eventstoreUrl);
  if (!existsSync(file)) return missing(file, wrapped);
  const problems = [...modeProblems(file), ...(await keyProblems(file, wrapped))];
  if (problems.length > 0) return fail(problems.map(({ message }) => message).join('; '), problems.map(({ advice }) => advice).join('; '));
  const comparison = wrapped === null ? '; not compared with the log, which does not answer' : '';
  return ok(`${file}: keep a copy of it, separate from the event log${comparison}`);
};
