import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { reportOf } from '../../infra/runner/attempt-reporter.ts';
import { createOutputTail, MAX_KEPT_BYTES, type Output, plainText, startOfBody } from '../../infra/runner/failed-attempt.ts';
import { createKnownSecrets, secretsOfUrl } from '../../infra/runner/known-secrets.ts';

const PEM = `-----BEGIN PRIVATE KEY-----\n${'MIIEvQIBADANBgkqhkiG9w0B'.repeat(3)}\n-----END PRIVATE KEY-----\n`;
const RUNTIME = JSON.stringify({
  credentials: [{ secret: 'canary/cred+1"x' }, { secret: PEM }, { url: 'postgres://u:canary%2Furl@db/orders' }, { url: null }],
  repo: { token: 'canary-repo' },
  models: [{ config: { region: 'eu', nested: [{ password: 'canary-model' }] } }],
  skills: [{ config: { pin: 12345678 } }, { config: null }],
  tools: [{ configuration: { url: 'canary-tool' } }],
});
const secrets = createKnownSecrets(['canary-key', ...secretsOfUrl('http://u:canary%20pass@h/?token=canary-query')], {
  MODEL_API_KEY: 'canary-variable',
  DATABASE_URL: 'postgres://u:canary-database@h/db',
  GIT_AUTHOR_NAME: 'Anna Miller',
});
secrets.learn(RUNTIME);

const plain = [
  'canary/cred+1"x',
  'canary-repo',
  'canary-model',
  '12345678',
  'canary-tool',
  'canary-key',
  'canary pass',
  'canary%20pass',
  'canary/url',
];
const ENCODINGS: Readonly<Record<string, (text: string) => string>> = {
  plain: (text) => text,
  json: (text) => JSON.stringify(text),
  url: encodeURIComponent,
  base64: (text) => Buffer.from(text).toString('base64'),
  base64url: (text) => Buffer.from(text).toString('base64url'),
  hex: (text) => Buffer.from(text).toString('hex'),
};

for (const [name, encode] of Object.entries(ENCODINGS))
  test(`no secret that the runner knows is left in a text, in the form ${name}`, () => {
    for (const secret of [...plain, 'canary-query', 'canary-variable', 'canary-database', PEM])
      assert.not.ok(secrets.mask(`a ${encode(secret)} b`).includes(encode(secret)), secret);
  });

test('each line of a secret with several lines is replaced, and words that are not secrets stay', () => {
  const printed = PEM.split('\n').map((line) => `  > ${line}`);
  assert.not.match(secrets.mask(printed.join('\n')), 'MIIEvQ');
  assert.is(secrets.mask('Anna Miller in eu'), 'Anna Miller in eu');
});

const event = { specversion: '1.0', id: '00000000-0000-4000-8000-000000000001', subject: 's' } as const;
type Written = Partial<Output> & { readonly reason?: string };
const reported = ({ reason = 'it failed', text = '', part = 'end', isCut = false }: Written) =>
  reportOf(secrets, {
    event,
    attempt: 1,
    seconds: 1,
    failure: { reason, cause: { outcome: 'failed', code: 'canary-key', output: { text, part, isCut } } },
  });

test('a report has at most 2,000 characters of the reason and the last 4,000 of the output, with no secret cut in the middle', async () => {
  for (let filler = 3_980; filler < 4_000; filler++) {
    const { stderr_tail } = await reported({ text: `canary-repo${'x'.repeat(filler)}` });
    assert.ok(stderr_tail!.length <= 4_000);
    assert.not.match(stderr_tail!, /repo|canary/);
  }
  assert.is((await reported({ reason: 'y'.repeat(3_000) })).reason.length, 2_000);
  assert.not.match(JSON.stringify(await reported({ reason: 'canary-tool' })), 'canary');
});

test('the rest of a secret at the start of an output that was cut is not reported', async () => {
  const secret = 'canary-model';
  // After masking, all of the kept output fits into the report.
  const lines = `${Buffer.from(PEM).toString('hex')}\n`.repeat(400);
  for (let left = 1; left < secret.length; left++) {
    const tail = createOutputTail();
    tail.add(Buffer.from(`${secret} ${lines}`.slice(0, MAX_KEPT_BYTES + secret.length - left - 8)));
    tail.add(Buffer.from('\nthe end'));
    const output = tail.read();
    assert.ok(output.isCut && plainText(output.text).startsWith(`${secret.slice(-left)} `), 'the output begins within the secret');
    const { stderr_tail } = await reported(output);
    assert.match(stderr_tail!, /^[^\n]*\n\[secret\]\n[\s\S]*\nthe end$/);
    assert.not.ok(stderr_tail!.split('\n', 1)[0]!.includes(secret.slice(-left)), stderr_tail!.slice(0, 40));
  }
});

test('the start of an answer is reported, without the beginning of a secret where the body was cut', async () => {
  const secret = 'canary-model';
  const lines = `${Buffer.from(PEM).toString('hex')}\n`.repeat(400);
  for (let left = 1; left < secret.length; left++) {
    const body = `the start\n${lines}`.slice(0, MAX_KEPT_BYTES - left - 1);
    const output = await startOfBody(new Response(`${body}\n${secret.slice(0, left)}`).body);
    assert.equal([output.isCut, plainText(output.text).endsWith(`\n${secret.slice(0, left)}`)], [true, true]);
    const { stderr_tail } = await reported(output);
    assert.match(stderr_tail!, /^the start\n\[secret\]\n/);
    assert.not.ok(stderr_tail!.endsWith(`\n${secret.slice(0, left)}`), stderr_tail!.slice(-40));
  }
  const long = await reported({ text: `the start ${'x'.repeat(5_000)}`, part: 'start' });
  assert.equal([long.stderr_tail!.length, long.stderr_tail!.startsWith('the start')], [4_000, true]);
  assert.is((await reported({ text: 'short', part: 'start', isCut: true })).stderr_tail, null);
});

test('a text that is cut within a character outside the basic plane stays well-formed', async () => {
  const pair = '\u{1f600}';
  for (const filler of ['', 'x']) {
    const { reason, stderr_tail } = await reported({
      text: `${filler}${pair.repeat(3_000)}${filler}`,
      reason: `${filler}${pair.repeat(1_500)}`,
    });
    assert.equal([reason.isWellFormed(), stderr_tail!.isWellFormed()], [true, true], filler);
    assert.equal([reason.length, stderr_tail!.length], [2_000, 4_000]);
  }
  assert.is((await reported({ text: 'broken \ud83d here' })).stderr_tail, 'broken \ufffd here');
});

const URLS: readonly (readonly [url: string, secrets: readonly string[]])[] = [
  ['postgres://u:50%off!@h/db', ['50%off!']],
  ['postgres://u:a%zzb%2Fc@h/db', ['a%zzb%2Fc']],
  ['https://ghp_0123456789@github.example/a.git', ['ghp_0123456789']],
  ['nats://a%2Ftoken@h', ['a/token', 'a%2Ftoken']],
  ['https://%zz-token@h', ['%zz-token']],
  ['postgres://orders@h/db', []],
  ['https://git@h/a.git', []],
  ['no url ://%', []],
];

for (const [url, expected] of URLS)
  test(`the secrets in the URL ${url} are known, and it does not stop the runner`, () => {
    const { mask } = createKnownSecrets([], { A_URL: url });
    assert.equal([...new Set(secretsOfUrl(url))].sort(), [...expected].sort());
    for (const secret of expected) assert.is(mask(`a ${secret} b`), 'a [secret] b');
  });

test('a secret within a header for basic authentication is replaced, and other headers stay', () => {
  const encode = (text: string) => Buffer.from(text).toString('base64');
  for (const user of ['', 'u', 'me', 'x-access-token'])
    assert.is(secrets.mask(`authorization: Basic ${encode(`${user}:canary-repo`)}; x`), 'authorization: Basic [secret]; x');
  const other = `basic ${encode('u:nothing secret')} information`;
  assert.is(secrets.mask(other), other);
});

test('escape sequences of terminals are removed, also where they divide a secret', async () => {
  const { stderr_tail } = await reported({ text: '\u001b[31mred\u001b[0m canary-\u001b[1mrepo\u001b[0m\0' });
  assert.is(stderr_tail, 'red [secret]');
});

test.run();
