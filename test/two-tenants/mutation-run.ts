import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AGENT_GUARDS } from './agent-guards.ts';
import { CALLER_GUARDS } from './caller-guards.ts';
import type { Edit, Mutant } from './guard.ts';
import { INVITATION_GUARDS } from './invitation-guards.ts';
import { RESOURCE_GUARDS } from './resource-guards.ts';
import { SESSION_GUARDS } from './session-guards.ts';
import { SKILL_GUARDS } from './skill-guards.ts';
import { TOOL_GUARDS } from './tool-guards.ts';

const MUTANTS: readonly Mutant[] = [
  ...CALLER_GUARDS,
  ...AGENT_GUARDS,
  ...RESOURCE_GUARDS,
  ...INVITATION_GUARDS,
  ...SESSION_GUARDS,
  ...SKILL_GUARDS,
  ...TOOL_GUARDS,
];

const root = join(import.meta.dirname, '../..');

/** Copies the project's code to a new temporary directory. @returns that directory */
const copyTree = (from: string): string => {
  const dir = mkdtempSync(join(tmpdir(), 'annals-mutant-'));
  for (const part of ['api', 'commands', 'domain', 'infra', 'projections', 'test', 'package.json'])
    cpSync(join(from, part), join(dir, part), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(dir, 'node_modules'));
  return dir;
};

const apply = (dir: string, [file, from, to]: Edit): void => {
  const text = readFileSync(join(dir, file), 'utf8');
  if (!text.includes(from)) throw new Error(`${file} no longer contains: ${from}`);
  writeFileSync(join(dir, file), text.replaceAll(from, to));
};

/**
 * Runs a test file in a copy of the project. @returns whether the file fails. @throws Error if the file does not run at
 * all
 */
const fails = (dir: string, test: string): Promise<boolean> =>
  new Promise((resolve, reject) => {
    const env = { TEST_SHARE: '0-100', ...process.env, TEST_STOP_AT_FIRST: '1' };
    execFile(process.execPath, [`test/${test}`], { cwd: dir, env, maxBuffer: 1 << 26 }, (error, out, err) =>
      out.includes('Total:') ? resolve(error !== null) : reject(new Error(`the test did not run: ${err}`)),
    );
  });

/** Removes a mutant's guards in a new copy of the project. @returns whether the mutant's test then fails, as it must */
const isDetected = async (base: string, { edits, by = 'access/tenant-isolation-probes.api.test.ts' }: Mutant): Promise<boolean> => {
  const dir = copyTree(base);
  try {
    for (const edit of edits) apply(dir, edit);
    return await fails(dir, by);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
};

/**
 * Runs the program `node test/two-tenants/mutation-run.ts [part of a mutant's name]`. It removes the guards one by one,
 * each in a new copy of the project. It exits with 1 if, without one of the guards, the tests still pass.
 */
const main = async (part = ''): Promise<void> => {
  const chosen = MUTANTS.filter(({ name }) => name.includes(part));
  const undetected: string[] = [];
  // Copy the code once now. The other copies are made from this one, so that edits during the run have no effect.
  const base = copyTree(root);
  for (const mutant of chosen) {
    const detected = await isDetected(base, mutant).catch((error: Error) => {
      console.log(`${mutant.name}: ${error.message.slice(0, 300)}`);
      return false;
    });
    if (!detected) undetected.push(mutant.name);
    console.log(`${detected ? 'detected  ' : 'UNDETECTED'} ${mutant.name}`);
  }
  rmSync(base, { recursive: true, force: true });
  console.log(`${chosen.length - undetected.length} of ${chosen.length} detected`);
  process.exitCode = undetected.length > 0 ? 1 : 0;
};

await main(process.argv[2]);
