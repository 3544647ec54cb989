// limit: 120
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { crc32, gzipSync } from 'node:zlib';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { Refusal } from '../../domain/refusal.ts';
import { unpackZip } from '../../infra/archives/unpack-zip.ts';
import { root } from '../fixtures/child-process.ts';
import { borderlineArchives, hostileArchives } from '../fixtures/hostile-archives.ts';
import { skillArchive, skillText, type ZipEntry, zipArchive } from '../fixtures/zip-archive.ts';

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

const MANIFEST: ZipEntry = { name: 'SKILL.md', content: skillText() };
const CP437 = Buffer.from('f\x81r.md', 'latin1');
const unicodePath = (raw: Buffer, name: string): Buffer => {
  const data = Buffer.concat([Buffer.of(1), Buffer.from(Uint32Array.of(crc32(raw)).buffer), Buffer.from(name)]);
  return Buffer.concat([Buffer.from(Uint16Array.of(0x7075, data.length).buffer), data]);
};

/** [what writes such archives, the archive, the paths of its files] */
const READ: readonly (readonly [source: string, archive: Buffer, paths: readonly string[]])[] = [
  ['.NET 4.6, PowerShell 5.1', zipArchive([{ name: 'a\\SKILL.md' }, { name: 'a\\b\\c.txt' }]), ['a/SKILL.md', 'a/b/c.txt']],
  ['bsdtar --format zip .', zipArchive([{ name: './' }, { name: './SKILL.md' }, { name: './a/b' }]), ['SKILL.md', 'a/b']],
  ['folders with backslashes', zipArchive([{ name: 'a\\' }, { name: 'a\\b' }]), ['a/b']],
  ['APPNOTE 4.4.15, a folder by its attribute', zipArchive([{ name: 'a', attributes: 0x10, stored: true }, { name: 'a/b' }]), ['a/b']],
  ['a folder by its mode', zipArchive([{ name: 'a', mode: 0o040755, stored: true }, { name: 'a/b' }]), ['a/b']],
  ['folders after their files, and twice', zipArchive([{ name: 'a/b' }, { name: 'a/' }, { name: 'a/' }]), ['a/b']],
  [
    'APPNOTE 4.3.9, zip - and Java',
    zipArchive([
      { ...MANIFEST, isStreamed: true },
      { name: 'a', isStreamed: true },
    ]),
    ['SKILL.md', 'a'],
  ],
  ['APPNOTE 4.5.3, 64 bits', zipArchive([{ ...MANIFEST, isZip64: true }], { isZip64: true }), ['SKILL.md']],
  ['APPNOTE 4.3.14, 64 bits at the end only', zipArchive([MANIFEST], { isZip64: true }), ['SKILL.md']],
  ['git archive', zipArchive([MANIFEST], { comment: '0'.repeat(40) }), ['SKILL.md']],
  ['Archive Utility of macOS, UTF-8 without the flag', zipArchive([{ name: 'u\u0308.md', flags: 0 }]), ['u\u0308.md']],
  ['APPNOTE 4.4.4, UTF-8', zipArchive([{ name: 'für.md' }]), ['für.md']],
  ['MS-DOS, code page 437', zipArchive([{ name: CP437, flags: 0 }]), ['für.md']],
  ['Info-ZIP, APPNOTE 4.6.9', zipArchive([{ name: CP437, flags: 0, extra: unicodePath(CP437, 'fünf.md') }]), ['fünf.md']],
  ['Finder, the icon of a folder', zipArchive([MANIFEST, { name: 'a/Icon\r' }]), ['SKILL.md', 'a/Icon\r']],
];

test('the paths of an archive are read as the program that wrote it means them', async () => {
  for (const [source, archive, paths] of READ) {
    const { files } = await unpackZip(archive, keep).catch((error: unknown) => {
      throw new Error(source, { cause: error });
    });
    assert.equal(
      files.map(({ path }) => path),
      paths,
      source,
    );
  }
});

const tar = Buffer.concat([Buffer.alloc(257, 'a'), Buffer.from('ustar\0'), Buffer.alloc(249)]);
const withEntry = (entry: ZipEntry): Buffer => zipArchive([MANIFEST, entry]);

/** [what was sent, the archive, what the refusal says] The signatures are those of the programs' own documents. */
const MESSAGES: readonly (readonly [what: string, archive: Buffer, message: RegExp])[] = [
  ['nothing', Buffer.alloc(0), /^The file is empty: pack the files as a zip archive$/],
  ['RFC 1952', gzipSync('x'), /^The file is a gzip archive \(\.gz, \.tgz\), and no zip archive: pack the files as a zip archive$/],
  ['POSIX ustar', tar, /is a tar archive/],
  ['7zFormat.txt', Buffer.from("7z\xbc\xaf'\x1c\0\x04", 'latin1'), /is a 7z archive/],
  ['RAR 5.0 note', Buffer.from('Rar!\x1a\x07\x01\0', 'latin1'), /is a RAR archive/],
  ['xz', Buffer.from('\xfd7zXZ\0', 'latin1'), /is an xz archive/],
  ['bzip2', Buffer.from('BZh91AY'), /is a bzip2 archive/],
  ['RFC 8878', Buffer.from('\x28\xb5\x2f\xfd', 'latin1'), /is a Zstandard archive/],
  [
    'an archive that unpacks itself',
    Buffer.concat([Buffer.from('MZ\x90\0', 'latin1'), zipArchive([MANIFEST])]),
    /is a program of Windows, perhaps an archive that unpacks itself/,
  ],
  ['a script in front', Buffer.concat([Buffer.from('#!/bin/sh\n'), zipArchive([MANIFEST])]), /has other bytes before its first file/],
  ['the text alone', Buffer.from(skillText()), /is not a zip archive/],
  ['an error page', Buffer.from('<!DOCTYPE html><p>Not found'), /is an HTML page, and no zip archive/],
  ['an empty archive', zipArchive([]), /is a zip archive without files: pack the files as/],
  [
    'APPNOTE 8.5.3, a part',
    Buffer.concat([Buffer.from('PK\x07\x08'), zipArchive([MANIFEST])]),
    /is a part of a zip archive that was split/,
  ],
  ['an upload that broke off', zipArchive([MANIFEST]).subarray(0, 60), /^The archive is damaged: its end is missing, .* Pack it again$/],
  ['bytes at the end', Buffer.concat([zipArchive([MANIFEST]), Buffer.from('x')]), /there are bytes after its end/],
  ['APPNOTE 4.4.5, Explorer above 2 GiB', withEntry({ name: 'a', method: 9 }), /^"a" is compressed with Deflate64: pack it with Deflate/],
  ['7-Zip', withEntry({ name: 'a', method: 14 }), /^"a" is compressed with LZMA/],
  ['APPNOTE 4.4.5', withEntry({ name: 'a', method: 12 }), /^"a" is compressed with bzip2/],
  ['APPNOTE 4.4.5', withEntry({ name: 'a', method: 93 }), /^"a" is compressed with Zstandard/],
  ['zip -e', withEntry({ name: 'a', flags: 0x801 }), /^"a" is encrypted: pack it without a password$/],
  ['WinZip AES', withEntry({ name: 'a', method: 99 }), /^"a" is encrypted/],
  ['APPNOTE 7', withEntry({ name: 'a', flags: 0x841 }), /a file that is encrypted: pack it without a password$/],
  ['zip -y', withEntry({ name: 'a', content: '/etc', mode: 0o120777 }), /^"a" is a symbolic link: pack the file to which it leads$/],
  [
    'a path outside',
    withEntry({ name: 'a\\..\\b' }),
    /^The path "a\/\.\.\/b" contains an empty name, \. or \.\.: pack the folder from where it lies$/,
  ],
  ['a path outside after ./', withEntry({ name: './../b' }), /^The path "\.\.\/b" contains an empty name/],
  ['zip of an absolute path', withEntry({ name: '/home/a' }), /^The path "\/home\/a" is absolute: pack the folder from where it lies$/],
  [
    'Windows, Naming Files',
    withEntry({ name: 'a/NUL.txt' }),
    /^The path "a\/NUL\.txt" contains a name that Windows reserves for a device: rename it$/,
  ],
  ['Windows, Naming Files', withEntry({ name: 'a:b' }), /^The path "a:b" contains a colon, which Windows/],
  ['Windows, Naming Files', withEntry({ name: 'a:b/SKILL.md' }), /^The path "a:b\/SKILL\.md" contains a colon/],
  ['zip of a drive', withEntry({ name: 'C:\\a\\b' }), /^The path "C:\/a\/b" is absolute/],
  ['the same name twice', zipArchive([MANIFEST, MANIFEST]), /^The archive has "SKILL\.md" twice: pack it once$/],
  ['two cases', withEntry({ name: 'Skill.md' }), /^The paths "SKILL\.md" and "Skill\.md" differ only in case: rename one$/],
  ['two forms', zipArchive([{ name: 'é' }, { name: 'e\u0301' }]), /differ only in case or in the form of their letters: rename one$/],
  [
    'a file and a folder',
    zipArchive([{ name: 'a', content: 'x' }, { name: 'a/b' }]),
    /^The archive has "a" both as a file and as a folder/,
  ],
  [
    'a wrong checksum',
    withEntry({ name: 'a', content: 'x', claimedCrc: 7 }),
    /damaged: "a" has another checksum than the list of files says/,
  ],
  ['damaged data', withEntry({ name: 'a', content: 'x', data: Buffer.from('none') }), /damaged: "a" has data that cannot be unpacked/],
  ['a wrong size', withEntry({ name: 'a', content: 'x', claimedSize: 9 }), /damaged: "a" has another size than the list of files says/],
];

test('the refusal of an archive says in plain words what it is, which file is concerned, and what to do', async () => {
  for (const [what, archive, message] of MESSAGES) {
    const error = await unpackZip(archive, keep).then(
      () => assert.unreachable(what),
      (reason: unknown) => reason,
    );
    if (!(error instanceof Refusal)) throw error;
    assert.match(error.message, message, what);
  }
});

test('an error of the caller while a file is unpacked is thrown as it is, and not taken for a fault of the archive', async () => {
  const lost = new Error('the log cannot be reached');
  const thrown = await unpackZip(zipArchive([MANIFEST]), { ...keep, onPiece: () => Promise.reject(lost) }).catch((error: unknown) => error);
  assert.is(thrown, lost);
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
