import { hash, randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createVirusScan, pingClamav } from '../../infra/files/clamav.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { startClamavServer } from '../fixtures/clamav-server.ts';
import { FORM_TYPE, type FormPart, formBody } from '../fixtures/form-body.ts';
import { hostileArchives } from '../fixtures/hostile-archives.ts';
import { pictureOf, polyglots } from '../fixtures/polyglots.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';
import { unknownBytes } from '../fixtures/unknown-bytes.ts';
import { skillArchive, zipArchive } from '../fixtures/zip-archive.ts';

const clamav = await startClamavServer(1_000_000);
const p = await createTestPlatform();
const withClamav = await createTestPlatform({ findVirus: createVirusScan(clamav.address) });
type Result = { sha256: string; content_type: string; verdict: string; findings: { code: string; verdict: string; path: string | null }[] };
const EICAR = ['X5O!P%@AP[4\\PZX54(P^)7CC)7}$', 'EICAR-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*'].join('');

const send = (parts: readonly FormPart[], headers = {}, on = p) =>
  on.send('POST', `${on.tenant}/files/scan`, { raw: formBody(...parts), headers: { 'content-type': FORM_TYPE, ...headers } });
const scan = async (content: string | Uint8Array, filename = 'file.bin', on = p): Promise<Result> => {
  const answer = await send([{ name: 'upload', filename, content }], {}, on);
  if (answer.status !== 200) throw new Error(`${answer.status} ${answer.text}`);
  return answer.body as Result;
};
const codesOf = ({ findings }: Result) => [...new Set(findings.map(({ code }) => code))].sort();
const utf16 = (text: string): Buffer => Buffer.from(text, 'utf16le');
const OLE = Buffer.from([0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1]);

test('a scan of a file returns digest, type, verdict and findings, and appends FileScanned; it does not store the file', async () => {
  const content = '%PDF-1.7\n1 0 obj << /S /JavaScript /JS (app.alert(1)) >> endobj';
  const result = await scan(content, '../a.pdf');
  assert.equal([result.sha256, result.content_type, result.verdict], [hash('sha256', content, 'hex'), 'application/pdf', 'suspicious']);
  assert.equal(codesOf(result), ['active_content']);
  assert.equal(p.eventsOf('FileScanned').at(-1)!.data, {
    filename: 'a.pdf',
    resource_type: 'file',
    size_bytes: content.length,
    sha256: result.sha256,
    content_type: 'application/pdf',
    verdict: 'suspicious',
    findings: ['active_content'],
  });
  assert.is((await p.send('GET', `${p.tenant}/files/${result.sha256}`)).status, 404);
});

test('ordinary files (texts, pictures, tables, random bytes and archives of texts) get the verdict clean', async () => {
  for (const [label, content, filename] of [
    ['a text', 'Grüße aus Köln', 'a.txt'],
    ['an empty file', '', 'a.txt'],
    ['a table', 'a,b\n1,2\n', 'a.csv'],
    ['JSON', '{"on": "x", "script": 1}', 'a.json'],
    ['a PNG', await pictureOf('png'), 'a.png'],
    ['a JPEG', await pictureOf('jpeg'), 'a.jpg'],
    ['random bytes', unknownBytes(500_000), 'a.bin'],
    ['a PDF', '%PDF-1.7\n1 0 obj << /Type /Page /Contents 2 0 R >> endobj', 'a.pdf'],
    [
      'an archive of texts',
      zipArchive([
        { name: 'docs/a.txt', content: 'a' },
        { name: 'b.md', content: '# B' },
      ]),
      'a.zip',
    ],
    ['a skill', skillArchive(), 'skill.zip'],
  ] as const)
    assert.equal([(await scan(content, filename)).verdict, label], ['clean', label]);
});

test('programs, scripts, macros, embedded objects and archives that cannot be opened get the verdict suspicious, each with its own code', async () => {
  const elf = Buffer.concat([Buffer.from([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1]), Buffer.alloc(60)]);
  for (const [label, content, filename, code] of [
    ['a Windows program', Buffer.concat([Buffer.from('MZ'), Buffer.alloc(200)]), 'a', 'executable'],
    ['a Linux program', elf, 'a', 'executable'],
    ['the name of a program', 'x', 'a.exe', 'executable'],
    ['a shell script', '#!/bin/sh\nrm -rf /', 'a', 'script'],
    ['a PHP script', 'text <?php system(1); ?>', 'a.txt', 'script'],
    ['the name of a script', 'x', 'invoice.pdf.vbs', 'script'],
    ['an HTML page with a script', '<!doctype html><script>1</script>', 'a.html', 'active_content'],
    ['an HTML page with a handler', '<body onload=alert(1)>', 'a.html', 'active_content'],
    ['an SVG with a handler', '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>', 'a.svg', 'active_content'],
    ['a PDF that opens a program', '%PDF-1.7\n<< /S /Launch >>', 'a.pdf', 'active_content'],
    ['a PDF with an escaped name', '%PDF-1.7\n<< /S /J#61vaScript >>', 'a.pdf', 'active_content'],
    ['an old document with macros', Buffer.concat([OLE, Buffer.alloc(600), utf16('_VBA_PROJECT')]), 'a.doc', 'macro'],
    [
      'an old document with an embedded file',
      Buffer.concat([OLE, Buffer.alloc(600), utf16('\u0001Ole10Native')]),
      'a.doc',
      'embedded_object',
    ],
    ['a document with macros', zipArchive([{ name: 'word/vbaProject.bin', content: 'x' }]), 'a.docm', 'macro'],
    ['a table with old macros', zipArchive([{ name: 'xl/macrosheets/sheet1.xml', content: 'x' }]), 'a.xlsm', 'macro'],
    ['a rich text with an object', '{\\rtf1 \\object\\objdata 0105}', 'a.rtf', 'embedded_object'],
    ['a gzip archive', gzipSync('x'), 'a.gz', 'uninspected_archive'],
    ['an archive in an archive', zipArchive([{ name: 'b.zip', content: 'x' }]), 'a.zip', 'nested_archive'],
    ['a program in an archive', zipArchive([{ name: 'data', content: elf }]), 'a.zip', 'executable'],
    ['a script in an archive', zipArchive([{ name: 'a/run.sh', content: 'x' }]), 'a.zip', 'script'],
  ] as const) {
    const result = await scan(content, filename);
    assert.equal([label, result.verdict], [label, 'suspicious']);
    assert.ok(codesOf(result).includes(code), `${label}: ${codesOf(result)}`);
  }
});

test('scanning the EICAR test file, alone or in an archive, is refused even without ClamAV', async () => {
  for (const content of [EICAR, zipArchive([{ name: 'docs/eicar.txt', content: EICAR }])]) {
    const result = await scan(content);
    assert.is(result.verdict, 'refused');
    assert.is(result.findings[0]!.code, 'malware', 'the worst finding comes first');
  }
});

test('scanning a hostile archive that starts like a zip archive is refused with the code of the rule that the archive breaks', async () => {
  const archives = hostileArchives().filter(([, , bytes]) => bytes.subarray(0, 4).toString('latin1') === 'PK\x03\x04');
  assert.ok(archives.length >= 25);
  for (const [label, code, bytes] of archives) {
    const result = await scan(bytes, 'a.zip');
    assert.equal(
      [label, result.verdict, result.findings.some((one) => one.code === code && one.verdict === 'refused')],
      [label, 'refused', true],
    );
  }
});

test('no file that is valid as a picture or document and also contains a script or a second file gets the verdict clean', async () => {
  const harmless = /second half|pixels|wrong size|AVIF|TIFF|an empty file|longer than the file|comment|WebP with a wrong/;
  for (const [label, content] of await polyglots()) {
    if (harmless.test(label) && !/script/.test(label)) continue;
    assert.is.not((await scan(content, 'logo')).verdict, 'clean', label);
  }
});

test('an archive that starts with other bytes, a PDF with other bytes before it, and an archive in an archive never get the verdict clean', async () => {
  const prefix = Buffer.from([0, 1, 2, 255]);
  const program = Buffer.concat([Buffer.from('MZ'), Buffer.alloc(200)]);
  const members = [
    { name: 'word/vbaProject.bin', content: 'x' },
    { name: 'setup.exe', content: program },
  ];
  const large = { name: 'word/media/image1.bin', content: randomBytes(200_000) };
  for (const [label, content, code] of [
    ['four bytes', Buffer.concat([prefix, zipArchive(members)]), 'polyglot'],
    ['offsets that count the prefix', zipArchive(members, { prefix }), 'polyglot'],
    [
      'a prefix of 1 MB, and a comment',
      Buffer.concat([randomBytes(1_000_000), zipArchive(members), Buffer.alloc(60_000, 0x20)]),
      'polyglot',
    ],
    ['the mark of a split archive', Buffer.concat([Buffer.from('PK\x07\x08'), zipArchive(members)]), 'polyglot'],
    ['a text', Buffer.concat([Buffer.from('a text '), zipArchive(members)]), 'polyglot'],
    ['a PDF', Buffer.concat([prefix, Buffer.from('%PDF-1.7\n<< /S /JavaScript >>')]), 'polyglot'],
    ['an archive without its name', zipArchive([{ name: 'data', content: zipArchive(members), stored: true }]), 'nested_archive'],
    [
      'a large archive with a prefix in an archive',
      zipArchive([{ name: 'data', content: Buffer.concat([randomBytes(100_000), zipArchive([large, ...members])]), stored: true }]),
      'nested_archive',
    ],
  ] as const) {
    const result = await scan(content, 'report.docm');
    assert.equal([label, result.verdict, codesOf(result).includes(code)], [label, 'suspicious', true]);
  }
});

test('the scan of a file that is declared as a picture or a PDF, but is not one, has the finding type_mismatch', async () => {
  const claim = (type: string, content: string | Uint8Array) =>
    send([{ name: 'upload', content, headers: `Content-Disposition: form-data; name="upload"; filename="a"\r\nContent-Type: ${type}` }]);
  assert.equal(codesOf((await claim('image/png', 'a text')).body as Result), ['type_mismatch']);
  assert.equal(codesOf((await claim('application/pdf', await pictureOf('png'))).body as Result), ['type_mismatch']);
  assert.equal(codesOf((await claim('image/png', await pictureOf('png'))).body as Result), []);
});

test('the resource_type in a scan request is recorded; the request gets 422 if it is empty, has 65 characters or a line break, or occurs twice', async () => {
  const file = { name: 'upload', filename: 'a', content: 'x' };
  assert.is((await send([file, { name: 'resource_type', content: 'attachment' }])).status, 200);
  assert.is((p.eventsOf('FileScanned').at(-1)!.data as { resource_type: string }).resource_type, 'attachment');
  for (const content of ['', 'x'.repeat(65), 'a\nb'])
    assert.is((await send([file, { name: 'resource_type', content }])).status, 422, content);
  const type = { name: 'resource_type', content: 'a' };
  assert.is((await send([file, type, type])).status, 422);
  assert.is((await send([file, { name: 'other', content: 'a' }])).status, 422);
  assert.is((await send([type])).status, 422);
});

test('repeating a scan with the same Idempotency-Key returns the first result and appends no event; with another file and the same key it gets 422', async () => {
  const headers = { 'idempotency-key': 'scan-1' };
  const first = await send([{ name: 'upload', filename: 'a', content: 'x' }], headers);
  const count = p.eventsOf('FileScanned').length;
  assert.equal((await send([{ name: 'upload', filename: 'a', content: 'x' }], headers)).body, first.body);
  assert.is(p.eventsOf('FileScanned').length, count);
  assert.is((await send([{ name: 'upload', filename: 'a', content: 'y' }], headers)).status, 422);
});

test('scanning a file is refused if ClamAV finds malware in it; if ClamAV finds none, the verdict can still be clean', async () => {
  assert.ok(await pingClamav(clamav.address));
  const signature = 'EICAR-STANDARD-ANTIVIRUS-TEST-FILE';
  const found = await scan(signature, 'a.txt', withClamav);
  assert.equal(
    [found.verdict, found.findings[0]],
    ['refused', { code: 'malware', verdict: 'refused', path: null, message: 'The virus scanner found Eicar-Test-Signature' }],
  );
  assert.is((await scan(signature, 'a.txt')).verdict, 'clean', 'ClamAV alone knows this part of the signature');
  const large = unknownBytes(900_000);
  assert.is((await scan(large, 'a.bin', withClamav)).verdict, 'clean');
  assert.is(clamav.scanned.at(-1), large.length);
});

test('a scan gets 413 if the file is too large for ClamAV, and 503 if ClamAV does not answer; no such file gets the verdict clean', async () => {
  const count = withClamav.eventsOf('FileScanned').length;
  const upload = (content: Uint8Array) => send([{ name: 'upload', filename: 'a', content }], {}, withClamav);
  assert.is((await upload(unknownBytes(3_000_000))).status, 413);
  clamav.silence(true);
  const silent = await upload(unknownBytes(10));
  assert.is(silent.status, 503);
  assert.ok(silent.headers.get('retry-after'));
  clamav.silence(false);
  assert.is(withClamav.eventsOf('FileScanned').length, count);
});

afterLastTest(async () => {
  await p.close();
  await withClamav.close();
  await clamav.close();
});

test.run();
