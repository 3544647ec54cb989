import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connectRunner } from '../../infra/runner/runner-client.ts';

// A runner that is killed after the effect of an event and before its acknowledgement, `KILLS` times. As runners have
// to, it has one effect per event id.

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
  // The signal ends the process at the latest when it waits here.
  await new Promise(() => {});
});
