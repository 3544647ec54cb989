// limit: 120
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { Refusal } from '../../domain/refusal.ts';
import { unpackZip } from '../../infra/archives/unpack-zip.ts';
import { root } from '../fixtures/child-process.ts';
import { borderlineArchives, hostileArchives } from '../fixtures/hostile-archives.ts';
import { skillArchive, skillText } from '../fixtures/zip-archive.ts';

const keep = { isKept: (path: string) => path === 'SKILL.md', maxBytes: 1_000 };

/** Unpacks an archive. @returns the code of the refusal and of its first error, or null if the archive is accepted */
const codeOf = async (archive: Buffer): Promise<string | null> => {
  try {
    await unpackZip(archive, keep);
    return null;
  } catch (error) {
    if (error instanceof Refusal) return `${error.code} ${error.extra.errors?.[0]?.pointer} ${error.extra.errors?.[0]?.code}`;
    throw error;
  }
};

test('unpacking a hostile archive is refused with the code of the rule that the archive breaks', async () => {
  const hostile = hostileArchives();
  assert.ok(hostile.length >= 25);
  for (const [fault, code, archive] of hostile) assert.is(await codeOf(archive), `invalid /upload ${code}`, fault);
});

test('unpacking an archive that is just within the limits succeeds, and an archive inside an archive is not opened', async () => {
  for (const [what, archive] of borderlineArchives()) assert.is(await codeOf(archive), null, what);
  const nested = borderlineArchives().find(([what]) => what.includes('bomb'))![1];
  const { files } = await unpackZip(nested, keep);
  assert.equal(
    files.map(({ path }) => path),
    ['SKILL.md', 'bomb.zip'],
  );
});

test('unpacking an archive returns the names and sizes of all files, but the contents of only those that the caller wants to keep', async () => {
  const archive = skillArchive('one', [
    { name: 'scripts/', mode: 0o040755 },
    { name: 'scripts/run.sh', content: 'exit 0', mode: 0o100755 },
  ]);
  const { files, kept } = await unpackZip(archive, keep);
  assert.equal(files, [
    { path: 'SKILL.md', size: skillText('one').length },
    { path: 'scripts/run.sh', size: 6 },
  ]);
  assert.equal(
    [...kept].map(([path, bytes]) => [path, Buffer.from(bytes).toString()]),
    [['SKILL.md', skillText('one')]],
  );
  assert.is(await unpackZip(archive, { ...keep, maxBytes: 10 }).catch(({ extra }) => extra.errors[0].code), 'file_too_large');
});

test('unpacking an archive neither writes files nor holds all contents in memory', () => {
  const program = `
    import { unpackZip } from './infra/archives/unpack-zip.ts';
    import { borderlineArchives, hostileArchives } from './test/fixtures/hostile-archives.ts';
    const keep = { isKept: (path) => path === 'SKILL.md', maxBytes: 1000 };
    const archives = [...hostileArchives().map(([, , bytes]) => bytes), ...borderlineArchives().map(([, bytes]) => bytes)];
    const before = process.memoryUsage().rss;
    let most = before;
    for (const archive of archives) {
      await unpackZip(archive, keep).catch((error) => { if (error.name !== 'Refusal') throw error; });
      most = Math.max(most, process.memoryUsage().rss);
    }
    console.log(JSON.stringify({ count: archives.length, growth: most - before }));
  `;
  // Run the program without the permission to write files, so that it would fail if unpacking wrote a file.
  const options = ['--permission', '--allow-fs-read=*', '--input-type=module', '--eval', program];
  const { status, stdout, stderr } = spawnSync(process.execPath, options, { cwd: root, encoding: 'utf8' });
  assert.is(status, 0, stderr);
  const { count, growth } = JSON.parse(stdout) as { count: number; growth: number };
  assert.ok(count > 50 && growth < 120 * 1024 * 1024, `${count} archives, ${growth} bytes`);
});

test('in a process without the permission to write files, writing a file fails; so the test of unpacking without writing would notice a write', () => {
  const program = `import { writeFileSync } from 'node:fs'; writeFileSync(${JSON.stringify(join(root, 'written.tmp'))}, '');`;
  const options = ['--permission', '--allow-fs-read=*', '--input-type=module', '--eval', program];
  assert.match(spawnSync(process.execPath, options, { cwd: root, encoding: 'utf8' }).stderr, /ERR_ACCESS_DENIED/);
});

test.run();
