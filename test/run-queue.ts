import { availableParallelism, cpus } from 'node:os';

const IDLE_CHECK_INTERVAL_MS = 500;
/** An additional worker starts only if at least this share of the processors' time was idle since the last check. */
const MIN_IDLE_SHARE = 0.2;

/** Returns the idle and the total processor time of this machine since it started, in milliseconds. */
const processorTimes = (): { idle: number; total: number } => {
  const times = cpus().map((cpu) => cpu.times);
  return {
    idle: times.reduce((sum, { idle }) => sum + idle, 0),
    total: times.reduce((sum, each) => sum + each.user + each.nice + each.sys + each.idle + each.irq, 0),
  };
};

/**
 * Returns a function that returns the share (0 to 1) of the processors' time that was idle since the function was last
 * called.
 */
const idleShareMeter = (): (() => number) => {
  let last = processorTimes();
  return () => {
    const now = processorTimes();
    const [idle, total] = [now.idle - last.idle, now.total - last.total];
    last = now;
    return total > 0 ? idle / total : 0;
  };
};

/** Runs one item of a queue after another, each with what the previous ones have left behind. */
export type Worker<Item> = { readonly run: (item: Item) => Promise<void>; readonly close: () => Promise<void> };

/**
 * Runs the items in their order, but an item that must not run now only later. There are as many workers as processors,
 * but at least two. If the processors are idle because workers wait for something, there are up to twice as many.
 * Resolves when all items have run and the workers are closed. @throws the error of a worker
 */
export const runQueue = async <Item>(
  items: readonly Item[],
  openWorker: () => Worker<Item>,
  mayRun: (item: Item) => boolean = () => true,
): Promise<void> => {
  const waiting = [...items];
  const usual = Math.max(2, availableParallelism());
  const idleShare = idleShareMeter();
  const running = new Set<Promise<void>>();
  /** Takes the next item that may run. A running item that another one waits for is followed by that one. */
  const take = (): Item | undefined => {
    const index = waiting.findIndex(mayRun);
    return index < 0 ? undefined : waiting.splice(index, 1)[0];
  };
  const work = async (): Promise<void> => {
    const worker = openWorker();
    for (let item = take(); item !== undefined; item = take()) await worker.run(item);
    await worker.close();
  };
  const startWorker = (): void => {
    const worked: Promise<void> = work().finally(() => running.delete(worked));
    running.add(worked);
  };
  const idleCheck = setInterval(() => {
    if (idleShare() >= MIN_IDLE_SHARE && waiting.length > 0 && running.size < 2 * usual) startWorker();
  }, IDLE_CHECK_INTERVAL_MS);
  for (let count = 0; count < Math.min(usual, waiting.length); count++) startWorker();
  try {
    while (running.size > 0) await Promise.race(running);
  } finally {
    clearInterval(idleCheck);
  }
};
