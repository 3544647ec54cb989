import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connectRunner } from '../../infra/runner/runner-client.ts';

// This program is a runner that kills itself between the effect of an event and its acknowledgement, `KILLS` times in
// total. Like every correct runner, it has one effect per event id, even if it gets an event again.

const home = process.env.RUNNER_HOME!;
const fileOf = (name: string): string => join(home, name);
const linesOf = (name: string): string[] => (existsSync(fileOf(name)) ? readFileSync(fileOf(name), 'utf8').split('\n').slice(0, -1) : []);

const effects = new Set(linesOf('effects'));
const runner = await connectRunner({ dir: fileOf('ledgers') });
console.log('waiting for deliveries');
await runner.receive(async ({ id }) => {
  appendFileSync(fileOf('runs'), `${id}\n`);
  if (effects.has(id)) return;
  effects.add(id);
  appendFileSync(fileOf('effects'), `${id}\n`, { flush: true });
  const kills = linesOf('kills').length;
  if (kills >= Number(process.env.KILLS)) return;
  writeFileSync(fileOf('kills'), `${id}\n`, { flag: 'a', flush: true });
  process.kill(process.pid, 'SIGKILL');
  // Wait for the signal to end the process, so that the event is never acknowledged.
  await new Promise(() => {});
});
