import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { COMPILE_CACHE } from '../../infra/compile-cache.ts';
import { startTestServices, type TestRun } from '../mutants/mutant-services.ts';
import { AGENT_GUARDS } from './agent-guards.ts';
import { CALLER_GUARDS } from './caller-guards.ts';
import { CREDENTIAL_GUARDS } from './credential-guards.ts';
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
  ...CREDENTIAL_GUARDS,
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

/** Removes a mutant's guards from the copy in `dir`. @returns a function that puts them back */
const applyTo = (dir: string, edits: readonly Edit[]): (() => void) => {
  const files = new Map(edits.map(([file]) => [join(dir, file), readFileSync(join(dir, file), 'utf8')]));
  for (const [file, from, to] of edits) {
    const text = readFileSync(join(dir, file), 'utf8');
    if (!text.includes(from)) throw new Error(`${file} no longer contains: ${from}`);
    writeFileSync(join(dir, file), text.replaceAll(from, to));
  }
  return () => {
    for (const [file, text] of files) writeFileSync(file, text);
  };
};

/** How long a process may take to end after it has printed the result. A failed test leaves its connections open. */
const END_TIMEOUT_MS = 2_000;

/**
 * Runs a test file in the copy in `dir`. @returns whether a test fails. @throws Error if the file does not run at all
 */
const fails = (dir: string, test: string, env: NodeJS.ProcessEnv): Promise<boolean> =>
  new Promise((resolve, reject) => {
    const child = execFile(process.execPath, [`test/${test}`], { cwd: dir, env, maxBuffer: 1 << 26 }, (_, out, err) => {
      const [total, passed] = ['Total', 'Passed'].map((name) => new RegExp(`^ {2}${name}: +(\\d+)$`, 'm').exec(out)?.[1]);
      return total === undefined ? reject(new Error(`the test did not run: ${err}`)) : resolve(passed !== total);
    });
    let printed = '';
    child.stdout!.on('data', (part: string) => {
      printed += part;
      if (printed.includes('Skipped:')) setTimeout(() => child.kill('SIGKILL'), END_TIMEOUT_MS).unref();
    });
  });

/** Returns whether a mutant's test fails without the mutant's guards, as it must. */
const isDetected = async (
  dir: string,
  { env, clear }: TestRun,
  { edits, by = 'access/tenant-isolation-probes.api.test.ts' }: Mutant,
): Promise<boolean> => {
  const putBack = applyTo(dir, edits);
  try {
    return await fails(dir, by, env);
  } finally {
    putBack();
    await clear();
  }
};

/**
 * Runs the program `node test/two-tenants/mutation-run.ts [part of a mutant's name]`. It removes the guards one by one
 * in a copy of the project. It exits with 1 if, without one of the guards, the tests still pass. All cases are tried,
 * unless TEST_SHARE says otherwise.
 */
const main = async (part = ''): Promise<void> => {
  const chosen = MUTANTS.filter(({ name }) => name.includes(part));
  const undetected: string[] = [];
  const services = await startTestServices();
  const { env, clear } = await services.openRun();
  const { TEST_SHARE = '0-100', TEST_SEED = '1' } = process.env;
  const run = { env: { ...env, TEST_SHARE, TEST_SEED, TEST_STOP_AT_FIRST: '1', NODE_COMPILE_CACHE: COMPILE_CACHE }, clear };
  const dir = copyTree(root);
  for (const mutant of chosen) {
    const detected = await isDetected(dir, run, mutant).catch((error: Error) => {
      console.log(`${mutant.name}: ${error.message.slice(0, 300)}`);
      return false;
    });
    if (!detected) undetected.push(mutant.name);
    console.log(`${detected ? 'detected  ' : 'UNDETECTED'} ${mutant.name}`);
  }
  rmSync(dir, { recursive: true, force: true });
  await services.stop();
  console.log(`${chosen.length - undetected.length} of ${chosen.length} detected`);
  process.exitCode = undetected.length > 0 ? 1 : 0;
};

await main(process.argv[2]);
