import type { ClientBase } from 'pg';
import { hasLockSession } from '../postgres/advisory-locks.ts';
import { WORKER_SILENT_SECONDS } from './status.ts';

/**
 * A worker reports about every second. If its last report is older than this many seconds, and it has no database
 * session either, it counts as missing.
 */
const SESSION_CHECK_SECONDS = 2;

/**
 * Returns whether no worker runs. `silentSeconds` is the time since a worker last reported. A worker that has ended or
 * hangs loses its database session within seconds, so a missing session is noticed before a missing report.
 */
export const isWorkerMissing = async (db: Pick<ClientBase, 'query'>, silentSeconds: number): Promise<boolean> =>
  silentSeconds > WORKER_SILENT_SECONDS || (silentSeconds > SESSION_CHECK_SECONDS && !(await hasLockSession(db)));
