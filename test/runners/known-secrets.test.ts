import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { reportOf } from '../../infra/runner/attempt-reporter.ts';
import { createOutputTail } from '../../infra/runner/failed-attempt.ts';
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

test('each line of a secret with several lines is replaced, and words that are no secrets stay', () => {
  const printed = PEM.split('\n').map((line) => `  > ${line}`);
  assert.not.match(secrets.mask(printed.join('\n')), 'MIIEvQ');
  assert.is(secrets.mask('Anna Miller in eu'), 'Anna Miller in eu');
});

const event = { specversion: '1.0', id: '00000000-0000-4000-8000-000000000001', subject: 's' } as const;
const reported = (output: string, isCut = false, reason = 'it failed') =>
  reportOf(secrets, {
    event,
    attempt: 1,
    seconds: 1,
    failure: { reason, cause: { outcome: 'failed', code: 'canary-key', output, isCut } },
  });

test('a report has at most 2,000 characters of the reason and the last 4,000 of the output, with no secret cut in the middle', () => {
  for (let filler = 3_980; filler < 4_000; filler++) {
    const { stderr_tail } = reported(`canary-repo${'x'.repeat(filler)}`);
    assert.ok(stderr_tail!.length <= 4_000);
    assert.not.match(stderr_tail!, /repo|canary/);
  }
  assert.is(reported('', false, 'y'.repeat(3_000)).reason.length, 2_000);
  assert.not.match(JSON.stringify(reported('', false, 'canary-tool')), 'canary');
});

test('the rest of a secret at the start of an output that was cut is not reported', () => {
  const tail = createOutputTail();
  tail.add(Buffer.from(`canary-model${'-\n'.repeat(32_765)}`));
  const { output, isCut } = tail.read();
  assert.ok(isCut && new TextDecoder().decode(output).startsWith('ary-model') === false);
  const { stderr_tail } = reported(`nary-model ${'canary-repo'.repeat(50)} the end`, true);
  assert.not.match(stderr_tail!, /model|canary/);
  assert.match(stderr_tail!, /the end$/);
});

test('escape sequences of terminals are removed, also where they divide a secret', () => {
  const { stderr_tail } = reported('\u001b[31mred\u001b[0m canary-\u001b[1mrepo\u001b[0m\0');
  assert.is(stderr_tail, 'red [secret]');
});

test.run();
