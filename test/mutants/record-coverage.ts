import { appendFileSync } from 'node:fs';
import { Session } from 'node:inspector';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

// Node loads this module (option --import) before test/run-files.ts. It writes one line for each test file: which
// functions of the rooms were called while the file ran.

/** The range of a called function in its source file; the module itself has the range of the whole file. */
export type Range = readonly [start: number, end: number];
export type Calls = Readonly<Record<string, readonly Range[]>>;
export type CoverageLine = { readonly file: string; readonly calls: Calls };

type Script = { url: string; functions: { ranges: { startOffset: number; endOffset: number; count: number }[] }[] };

const ROOT = pathToFileURL(join(import.meta.dirname, '../..')).href;
const SOURCE = /^\/((?:domain|commands|projections|api)\/.*\.ts)$/;

const sourceOf = ({ url }: Script): string | undefined => (url.startsWith(ROOT) ? SOURCE.exec(url.slice(ROOT.length))?.[1] : undefined);

const calledRanges = ({ functions }: Script): Range[] =>
  functions.flatMap(({ ranges: [range] }) => (range && range.count > 0 ? [[range.startOffset, range.endOffset] as const] : []));

/** Returns what was called since the last call of this function. */
const takeCalls = (session: Session): Calls => {
  let scripts: Script[] = [];
  // The session is connected to this thread: it calls back before `post` returns.
  session.post('Profiler.takePreciseCoverage', (error, found) => {
    if (error) throw error;
    scripts = found.result;
  });
  return Object.fromEntries(
    scripts.flatMap((script) => {
      const source = sourceOf(script);
      const ranges = calledRanges(script);
      return source && ranges.length > 0 ? [[source, ranges]] : [];
    }),
  );
};

const record = (output: string): void => {
  const session = new Session();
  session.connect();
  session.post('Profiler.enable');
  session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  let current: string | null = null;
  // This listener is called before that of run-files.ts, which starts the next file.
  process.on('message', (next: string | null) => {
    if (current !== null)
      appendFileSync(output, `${JSON.stringify({ file: current, calls: takeCalls(session) } satisfies CoverageLine)}\n`);
    current = next;
  });
};

const { TEST_COVERAGE: directory } = process.env;
if (process.send && directory) {
  // Processes and threads that the tests start are not recorded.
  delete process.env.TEST_COVERAGE;
  delete process.env.NODE_OPTIONS;
  record(join(directory, `${process.pid}.jsonl`));
}
