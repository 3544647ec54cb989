import { setTimeout as sleep } from 'node:timers/promises';
import { test as plain } from 'uvu';

type End = () => unknown;

const MOST_MS = 5_000;
const ends: End[] = [];
let isInside = false;

/** Has something ended with the test that is under way, however that ends; what is begun outside of tests is its file's. */
export const afterwards = (end: End): void => void (isInside && ends.unshift(end));

const endInTime = async (end: End): Promise<void> => {
  const ended = new AbortController();
  const late = sleep(MOST_MS, undefined, { signal: ended.signal }).catch(() => {});
  await Promise.race([(async () => end())().catch(() => {}), late]);
  ended.abort();
};

const endAll = async (): Promise<void> => {
  for (const end of ends.splice(0)) await endInTime(end);
};

const within = (body: () => unknown) => async (): Promise<void> => {
  isInside = true;
  try {
    await body();
  } finally {
    isInside = false;
    await endAll();
  }
};

/** uvu's test, for bodies that start what goes on by itself: a failed assertion leaves nothing that would keep the file from ending. */
export const test = Object.assign((name: string, body: () => unknown): void => plain(name, within(body)), {
  run: plain.run,
  skip: plain.skip,
});
