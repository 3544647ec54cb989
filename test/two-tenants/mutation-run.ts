import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FENCES_OF_CALLERS } from './caller-guards.ts';
import type { Edit, Mutant } from './guard.ts';
import { FENCES_OF_THINGS } from './resource-guards.ts';

const MUTANTS: readonly Mutant[] = [...FENCES_OF_CALLERS, ...FENCES_OF_THINGS];

const root = join(import.meta.dirname, '../..');

const copied = (): string => {
  const dir = mkdtempSync(join(tmpdir(), 'annals-mutant-'));
  for (const part of ['api', 'commands', 'domain', 'infra', 'projections', 'test', 'package.json'])
    cpSync(join(root, part), join(dir, part), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(dir, 'node_modules'));
  return dir;
};

const apply = (dir: string, [file, from, to]: Edit): void => {
  const text = readFileSync(join(dir, file), 'utf8');
  if (!text.includes(from)) throw new Error(`${file} has no more: ${from}`);
  writeFileSync(join(dir, file), text.replaceAll(from, to));
};

/** Whether the generator goes red, or the test that has to. @throws Error where the copy does not run at all */
const isRed = (dir: string, test: string): Promise<boolean> =>
  new Promise((resolve, reject) => {
    const env = { ...process.env, TWO_TENANTS: 'first' };
    execFile(process.execPath, [`test/${test}`], { cwd: dir, env, maxBuffer: 1 << 26 }, (error, out, err) =>
      out.includes('Total:') ? resolve(error !== null) : reject(new Error(`it did not run: ${err}`)),
    );
  });

/** Takes down one fence in a copy of the tree. @returns whether the generator saw it */
const killed = async ({ edits, by = 'access/tenant-isolation-probes.api.test.ts' }: Mutant): Promise<boolean> => {
  const dir = copied();
  try {
    for (const edit of edits) apply(dir, edit);
    return await isRed(dir, by);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
};

/** `node test/two-tenants/mutation-run.ts [part of a name]`: takes every fence down, one at a time; ends with 1 where one was not missed. */
const main = async (part = ''): Promise<void> => {
  const chosen = MUTANTS.filter(({ name }) => name.includes(part));
  const alive: string[] = [];
  for (const mutant of chosen) {
    const dead = await killed(mutant).catch((error: Error) => {
      console.log(`${mutant.name}: ${error.message.slice(0, 300)}`);
      return false;
    });
    if (!dead) alive.push(mutant.name);
    console.log(`${dead ? 'killed' : 'ALIVE '} ${mutant.name}`);
  }
  console.log(`${chosen.length - alive.length} of ${chosen.length} killed`);
  process.exitCode = alive.length > 0 ? 1 : 0;
};

await main(process.argv[2]);
