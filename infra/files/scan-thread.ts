import type { Logger } from 'pino';
import type { FileToScan, Threats } from '../../commands/files/find-threats.ts';
import type { ScanPorts } from '../../commands/files/scan-file.ts';
import { entryPoint } from '../program.ts';
import { createTaskThread, type TaskError } from '../threads/task-thread.ts';

/** The time limit for one file, in milliseconds. */
const TIME_LIMIT_MS = 10_000;
const MAX_MEMORY_BYTES = 256 * 1024 * 1024;
/** A request waits until its file is scanned. */
const NO_LIMIT = { maxWaiting: Number.POSITIVE_INFINITY, maxWaitMs: Number.POSITIVE_INFINITY };
/** Files have no owner, so they are scanned in the order in which they arrive. */
const OWNER = '';

type Options = { readonly logger: Pick<Logger, 'warn'>; readonly timeLimitMs?: number };

/** One thread scans one file after another. For a file that exceeds a limit, the result is null. */
export const createThreatScan = ({ logger, timeLimitMs = TIME_LIMIT_MS }: Options): ScanPorts['findThreats'] => {
  const thread = createTaskThread<FileToScan, Threats>({
    script: entryPoint('infra/files/scan-worker.ts'),
    ...{ timeLimitMs, maxMemoryBytes: MAX_MEMORY_BYTES, ...NO_LIMIT },
  });
  return (file) =>
    thread.run(OWNER, file, [file.bytes.buffer as ArrayBuffer]).catch((error: TaskError) => {
      logger.warn({ reason: error.message, kind: error.kind }, 'a file was not checked completely for threats');
      return null;
    });
};
