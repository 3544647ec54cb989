import { runner } from '../infra/nats/runner.ts';

/** A runner as a process that a test may kill: `node runner-process.ts <agent> <command> <ledger directory> <ms between signs of life>`. */
const [agent = '', exec = '', dir = '', workingMs = '15000'] = process.argv.slice(2);
const { ANNALS_URL: url = '', ANNALS_KEY: key = '' } = process.env;
process.exitCode = await runner({ url, key, agent, exec, dir, workingMs: Number(workingMs) }).catch((error: Error) => {
  process.stderr.write(`${error.message}\n`);
  return 1;
});
process.exit();
