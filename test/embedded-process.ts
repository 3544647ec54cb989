import { join } from 'node:path';
import { nats } from '../infra/nats/embedded.ts';
import { postgres } from '../infra/postgres/embedded.ts';
import { freePort } from '../infra/process.ts';
import { replace, supervise } from '../infra/supervisor.ts';

/** One embedded server under a supervisor of its own, for tests that end either of them: `node embedded-process.ts <which> <dir>`. */
const [which, dir = ''] = process.argv.slice(2);

const ground = { logs: join(dir, 'logs'), run: join(dir, 'run'), say: (line: string) => console.log(line) };

const prepare = async () => {
  const port = await freePort();
  return which === 'postgres' ? postgres({ dir: join(dir, which), port }) : nats({ dir: join(dir, 'nats'), port });
};

const main = async (): Promise<void> => {
  const piece = await prepare();
  await replace(piece, ground);
  const running = supervise(piece, ground);
  process.once('SIGTERM', () => void running.stop().then(() => process.exit(0)));
  await running.ready;
  const { url } = piece;
  console.log(JSON.stringify({ url, pid: running.pid(), ...('accountSeed' in piece && { accountSeed: piece.accountSeed }) }));
};

await main().catch((error: Error) => {
  console.log(`refused: ${error.message}`);
  process.exit(1);
});
