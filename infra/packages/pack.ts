// Builds the npm packages annals and annals-client into a folder: `npm run pack -- <folder>`.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { printLine } from '../logging/print-line.ts';
import { PROGRAM_ROOT } from '../program.ts';
import { writeClientPackage } from './client-package.ts';
import { writePlatformPackage } from './platform-package.ts';

const project = JSON.parse(readFileSync(join(PROGRAM_ROOT, 'package.json'), 'utf8'));
const folder = resolve(process.argv[2] ?? 'dist-packages');

const pack = (dir: string): void => {
  const packed = execFileSync('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder], { cwd: dir, encoding: 'utf8' });
  const [{ filename, size, unpackedSize }] = JSON.parse(packed) as [{ filename: string; size: number; unpackedSize: number }];
  printLine(`${join(folder, filename)}  ${Math.ceil(size / 1024)} KiB, unpacked ${Math.ceil(unpackedSize / 1024)} KiB`);
};

const work = mkdtempSync(join(tmpdir(), 'annals-packages-'));
try {
  mkdirSync(folder, { recursive: true });
  const [platform, client] = [join(work, 'annals'), join(work, 'annals-client')];
  writePlatformPackage(platform, project);
  mkdirSync(client);
  await writeClientPackage(client, project);
  for (const dir of [platform, client]) pack(dir);
} finally {
  rmSync(work, { recursive: true, force: true });
}
