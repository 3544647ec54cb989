import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { makeTempDirectory } from '../fixtures/temp-directory.ts';
import { type Place, textWith } from './places.ts';

type Processes = Pick<typeof import('../test-process.ts'), 'startTestProcess' | 'activeProcesses'>;

/** A copy of the files of this checkout in a temporary directory, which tests mutants without changing the checkout. */
export type WorkingCopy = { readonly dir: string; readonly startTestProcess: Processes['startTestProcess']; readonly remove: () => void };

const root = join(import.meta.dirname, '../..');

/** Returns the files of the checkout that are under version control or will be, as they are on the disk. */
const filesOfCheckout = (): string[] =>
  execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '--deduplicate'], { cwd: root, encoding: 'utf8' })
    .split('\0')
    .filter((file) => file !== '');

const CODE = /^(domain|commands|projections|api|infra|test)\/(?!mutants\/)/;

/** Returns a hash of the code of the checkout, without this program. */
export const hashOfCode = (): string => {
  const hash = createHash('sha256');
  for (const file of filesOfCheckout().filter((each) => CODE.test(each))) hash.update(`${file}\0`).update(readFileSync(join(root, file)));
  return hash.digest('hex').slice(0, 16);
};

const copies = new Set<WorkingCopy>();

/** Removes all copies, and kills the test processes that run in them. */
export const removeCopies = (): void => {
  for (const copy of copies) copy.remove();
};

export const makeWorkingCopy = async (): Promise<WorkingCopy> => {
  const dir = makeTempDirectory();
  for (const file of filesOfCheckout()) {
    mkdirSync(join(dir, dirname(file)), { recursive: true });
    cpSync(join(root, file), join(dir, file));
  }
  symlinkSync(join(root, 'node_modules'), join(dir, 'node_modules'));
  const processes = (await import(pathToFileURL(join(dir, 'test/test-process.ts')).href)) as Processes;
  const remove = (): void => {
    for (const each of processes.activeProcesses) each.kill();
    rmSync(dir, { recursive: true, force: true });
    copies.delete(copy);
  };
  const copy: WorkingCopy = { dir, startTestProcess: processes.startTestProcess, remove };
  copies.add(copy);
  return copy;
};

/** Runs `use` while the copy contains the changes of these places. */
export const whileChanged = async <T>({ dir }: Pick<WorkingCopy, 'dir'>, places: readonly Place[], use: () => Promise<T>): Promise<T> => {
  const byFile = Map.groupBy(places, ({ file }) => file);
  const texts = new Map([...byFile.keys()].map((file) => [file, readFileSync(join(dir, file), 'utf8')]));
  for (const [file, changes] of byFile) writeFileSync(join(dir, file), textWith(texts.get(file)!, changes));
  try {
    return await use();
  } finally {
    for (const [file, text] of texts) writeFileSync(join(dir, file), text);
  }
};
