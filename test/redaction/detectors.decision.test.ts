import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { bodyContent } from '../../domain/bodies/body-content.ts';
import { contentSignals, contentVerdicts } from '../../domain/guardrails/content-checks.ts';
import type { CheckedBody } from '../../domain/guardrails/guardrail-evaluation.ts';
import { buildKey } from '../../domain/identity/api-key-format.ts';
import { type Detector, detect, redactDetected } from '../../domain/redaction/detectors.ts';
import { hasLuhnDigit } from '../../domain/redaction/payment-card.ts';

/**
 * Creates a generator of pseudo-random integers from 0 to `limit` - 1. The same seed yields the same integers in every
 * run.
 */
const seeded = (seed: number) => {
  let state = seed;
  return (limit: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
};

const LETTERS = 'abcdefghijklmnopqrstuvwxyz';
const ALNUM = `${LETTERS}${LETTERS.toUpperCase()}0123456789`;
const next = seeded(26);
const random = (length: number, alphabet = ALNUM): string => Array.from({ length }, () => alphabet[next(alphabet.length)]).join('');
const hex = (length: number): string => random(length, '0123456789abcdef');
const upper = (length: number): string => random(length, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567');
const base64Json = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/**
 * Functions that make random secrets in the format of each provider. The secrets are generated so that no secret
 * scanner reports this file.
 */
const SECRETS: readonly (readonly [tag: string, make: () => string])[] = [
  ['annals_key', () => buildKey(random(8), random(32))],
  ['aws_access_key', () => `AKIA${upper(16)}`],
  ['aws_access_key', () => `ASIA${upper(16)}`],
  ['github_token', () => `ghp_${random(36)}`],
  ['github_token', () => `ghs_${random(36)}`],
  ['github_token', () => `github_pat_${random(22)}_${random(59)}`],
  ['gitlab_token', () => `glpat-${random(20)}`],
  ['slack_token', () => `xoxb-${random(12, '0123456789')}-${random(13, '0123456789')}-${random(24)}`],
  ['slack_token', () => `xapp-1-A${upper(10)}-${random(13, '0123456789')}-${hex(64)}`],
  ['slack_webhook', () => `hooks.slack.com/services/T${upper(8)}/B${upper(10)}/${random(24)}`],
  ['stripe_key', () => `sk_live_${random(24)}`],
  ['stripe_key', () => `rk_test_${random(99)}`],
  ['webhook_secret', () => `whsec_${random(32)}`],
  ['google_api_key', () => `AIza${random(35)}`],
  ['google_oauth', () => `ya29.${random(60)}`],
  ['google_oauth', () => `GOCSPX-${random(28)}`],
  ['anthropic_key', () => `sk-ant-api03-${random(93)}AA`],
  ['openai_key', () => `sk-proj-${random(48)}`],
  ['openai_key', () => `sk-${random(20)}T3BlbkFJ${random(20)}`],
  ['npm_token', () => `npm_${random(36)}`],
  ['pypi_token', () => `pypi-AgE${random(80)}`],
  ['docker_token', () => `dckr_pat_${random(27)}`],
  ['sendgrid_key', () => `SG.${random(22)}.${random(43)}`],
  ['shopify_token', () => `shpat_${hex(32)}`],
  ['digitalocean_token', () => `dop_v1_${hex(64)}`],
  ['huggingface_token', () => `hf_${random(34, LETTERS)}`],
  ['linear_key', () => `lin_api_${random(40)}`],
  ['notion_token', () => `ntn_${random(46)}`],
  ['sentry_token', () => `sntrys_${random(80)}`],
  ['atlassian_token', () => `ATATT3${random(180)}`],
  ['telegram_token', () => `${random(9, '123456789')}:AA${random(33)}`],
  ['discord_webhook', () => `discord.com/api/webhooks/${random(18, '123456789')}/${random(68)}`],
  ['azure_key', () => `AccountKey=${random(86)}==`],
  ['vault_token', () => `hvs.${random(90)}`],
  ['databricks_token', () => `dapi${hex(32)}`],
  ['square_token', () => `sq0atp-${random(22)}`],
  ['grafana_token', () => `glsa_${random(32)}_${hex(8)}`],
  ['supabase_key', () => `sbp_${hex(40)}`],
  ['groq_key', () => `gsk_${random(52)}`],
  ['age_key', () => `AGE-SECRET-KEY-1${random(58, 'ABCDEFGHJKLMNPQRSTUVWXYZ234567')}`],
  ['jwt', () => `${base64Json({ alg: 'HS256', typ: 'JWT' })}.${base64Json({ sub: random(10), iat: 1 })}.${random(43)}`],
  ['private_key', () => `-----BEGIN RSA PRIVATE KEY-----\n${random(64)}\n${random(64)}\n-----END RSA PRIVATE KEY-----`],
  ['private_key', () => `-----BEGIN PRIVATE KEY-----\n${random(64)}`],
  ['bearer_token', () => `Bearer ${random(40)}`],
  ['basic_auth', () => `Authorization: Basic ${Buffer.from(`user:${random(12)}`).toString('base64')}`],
  ['url_password', () => `postgres://admin:${random(16)}@db.internal:5432/app`],
  ['credential', () => `DB_PASSWORD=${random(12)}9`],
  ['credential', () => `"client_secret": "${random(20)}7x"`],
];

const jsonBody = (value: unknown): CheckedBody => ({ bytes: Buffer.from(JSON.stringify(value)), media: 'json', json: 'json' });
const notesOf = (body: CheckedBody): (string | null)[] =>
  contentVerdicts(bodyContent(body.bytes, body.media, body.json), contentSignals(body))
    .filter(({ rule }) => rule === 'redaction')
    .map(({ note }) => note);

for (const [tag, make] of SECRETS)
  test(`a secret of the kind ${tag} is removed completely from a sentence, alone, and in JSON within JSON`, () => {
    const secret = make();
    const sensitive = /:(\w{8,})@/.exec(secret)?.[1] ?? secret.slice(-12);
    for (const text of [secret, `Use ${secret} for the deployment`, JSON.stringify({ value: secret })]) {
      assert.equal(notesOf(jsonBody({ comment: { body: text } })), [`${tag}: 1`], text);
      const redacted = redactDetected(text, ['secrets']);
      assert.ok(redacted.text.includes(`[redacted:${tag}]`), redacted.text);
      assert.not.ok(redacted.text.includes(sensitive), redacted.text);
    }
  });

test('identifiers, digests, placeholders and ordinary words are not detected as secrets', () => {
  const texts = [
    'da1560886d4f094c3e6c9ef40349f7d38b5d27d7',
    'f47ac10b-58cc-4372-a567-0e02b2c3d479',
    'MDEwOlJlcG9zaXRvcnkxMjk2MjY5',
    'sk_test',
    'ghp_xxxx',
    'password: required',
    'token=$TOKEN_1234567',
    'secret: process.env.SECRET_1',
    'Bearer authentication is required',
    'Basic introduction to programming',
    'https://user@example.com/path',
    'https://example.com:8080/a@b',
    'eyJhbGciOiJIUzI1NiJ9',
    'the key: value pairs',
    'npm_config_registry',
    'glue- and tape',
  ];
  for (const text of texts) assert.equal(detect(text, ['secrets']), [], text);
});

/** Returns a card number with this prefix and length, and a valid check digit. */
const card = (prefix: string, length: number): string => {
  const digits = prefix + random(length - prefix.length - 1, '0123456789');
  return [...'0123456789'].map((check) => digits + check).find(hasLuhnDigit)!;
};
const grouped = (number: string, separator: string): string =>
  number.length === 15 || number.length === 14
    ? [number.slice(0, 4), number.slice(4, 10), number.slice(10)].join(separator)
    : number.match(/.{1,4}/g)!.join(separator);

const CARDS = [
  ['4', 16],
  ['4', 19],
  ['51', 16],
  ['2223', 16],
  ['34', 15],
  ['6011', 16],
  ['3530', 16],
  ['36', 14],
  ['62', 16],
] as const;

const cardOf = ([prefix, length]: (typeof CARDS)[number]): string => card(prefix, length);

test('card numbers of each scheme are detected as digits, in groups and as JSON numbers; other numbers are not detected as card numbers', () => {
  for (const [prefix, length] of CARDS) {
    const number = card(prefix, length);
    for (const text of [number, `pay with ${grouped(number, ' ')} now`, grouped(number, '-'), `(${number})`]) {
      assert.equal(redactDetected(text, ['cards']).hits, [{ tag: 'card', count: 1 }], text);
      assert.equal(notesOf(jsonBody({ text })), ['card: 1'], text);
    }
    if (length < 16) assert.equal(notesOf({ bytes: Buffer.from(`{"a":[1,${number}]}`), media: 'json', json: 'json' }), ['card: 1']);
    const wrong = number.slice(0, -1) + ((Number(number.at(-1)) + 1) % 10);
    assert.equal(detect(wrong, ['cards']), [], wrong);
    for (const text of [`a${number}`, `${number}b`, `0.${number}`, `1${number}`, `${number}.5`])
      assert.equal(detect(text, ['cards']), [], text);
  }
  for (const text of ['0000000000000000', '1726839201123', '175928847299117063', '2026-11-23 10:00:00', '4111 1111 1111'])
    assert.equal(detect(text, ['cards']), [], text);
});

const FIRST = ['ada', 'grace', 'j.r.r', 'zoë', 'o_neil', 'max-emil', 'li'];
const DOMAINS = ['example.com', 'mail.example.co.uk', 'firma-gmbh.de', 'xn--mnchen-3ya.de', 'a.io'];
const digits = (count: number): string => random(count, '23456789');
const pick = <T>(values: readonly T[]): T => values[next(values.length)]!;

const PERSONAL: readonly (readonly [tag: string, make: () => string])[] = [
  ['email', () => `${pick(FIRST)}${next(100)}@${pick(DOMAINS)}`],
  ['email', () => `${pick(FIRST)}+tag@${pick(DOMAINS)}`],
  ['phone', () => `+49 ${digits(3)} ${digits(7)}`],
  ['phone', () => `+1-${digits(3)}-${digits(3)}-${digits(4)}`],
  ['phone', () => `+44${digits(10)}`],
  ['phone', () => `(${digits(3)}) ${digits(3)}-${digits(4)}`],
  ['phone', () => `0${digits(3)} ${digits(6)}`],
  ['phone', () => `0049 (0) ${digits(3)} ${digits(4)}`],
  ['phone', () => `${digits(3)}-${digits(3)}-${digits(4)}`],
  ['card', () => cardOf(pick(CARDS))],
  ['card', () => grouped(card('4', 16), ' ')],
];
const SENTENCES = ['Please call %s tomorrow.', '%s', 'Contact: %s, thanks', 'from "%s" to us', '<%s>', 'id 4711;%s;2026-11-23'];
const HARMLESS: readonly (() => string)[] = [
  () => `2026-${digits(2)}-11T10:0${next(9)}:00.000Z`,
  () => `v${next(20)}.${next(20)}.${next(20)}`,
  () => hex(40),
  () => `${hex(8)}-${hex(4)}-4${hex(3)}-a${hex(3)}-${hex(12)}`,
  () => `17${digits(11)}`,
  () => `192.168.${next(255)}.${next(255)}`,
  () => `$${digits(3)}.${digits(2)}`,
  () => `@user${next(99)} and @team`,
  () => `#${digits(5)}`,
  () => `https://example.com/${digits(9)}/edit?page=${next(9)}`,
  () => `order 5${digits(8)}`,
];

test('at least 95 % of 2,000 generated addresses, phone numbers and card numbers are detected, and at least 95 % of the detections are correct', () => {
  const detectors: readonly Detector[] = ['cards', 'emails', 'phones'];
  let found = 0;
  let extra = 0;
  const total = 2_000;
  for (let index = 0; index < total; index++) {
    const [tag, make] = PERSONAL[index % PERSONAL.length]!;
    const value = make();
    const text = pick(SENTENCES).replace('%s', () => value);
    const spans = detect(text, detectors);
    const isFound = spans.some((span) => span.tag === tag && text.slice(span.from, span.to) === value);
    if (isFound) found++;
    extra += spans.length - (isFound ? 1 : 0);
    extra += detect(`see ${HARMLESS[index % HARMLESS.length]!()} for more`, detectors).length;
  }
  const [recall, precision] = [found / total, found / (found + extra)];
  console.log(`recall ${(recall * 100).toFixed(1)} %, precision ${(precision * 100).toFixed(1)} %`);
  assert.ok(recall >= 0.95, `recall ${recall}`);
  assert.ok(precision >= 0.95, `precision ${precision}`);
});

test('redacting JSON keeps its structure and, byte for byte, all values that contain nothing to redact', () => {
  const number = card('4', 16);
  const secret = `ghp_${random(36)}`;
  const body = `{ "a" : [ 1.50, true, null, "${secret}" ], "n":${number}, "x": {"${secret}": "\\u00e9 ${grouped(number, '-')} \\"q\\""}}`;
  const content = bodyContent(Buffer.from(body), 'json', 'json');
  const redacted = Buffer.from(content.mapTexts((text) => redactDetected(text, ['secrets', 'cards']).text)).toString();
  assert.is(
    redacted,
    '{ "a" : [ 1.50, true, null, "[redacted:github_token]" ], "n":"[redacted:card]", "x": {"[redacted:github_token]": "é [redacted:card] \\"q\\""}}',
  );
});

test('a redacted form-encoded body is still form-encoded', () => {
  const form = new URLSearchParams({ Body: `my card is ${card('51', 16)}`, From: '+15550100' }).toString();
  const redacted = bodyContent(Buffer.from(form), 'form', 'form').mapTexts((text) => redactDetected(text, ['cards']).text);
  assert.equal(Object.fromEntries(new URLSearchParams(Buffer.from(redacted).toString())), {
    Body: 'my card is [redacted:card]',
    From: '+15550100',
  });
});

test('wherever in a body a secret or card number is, the fast filter on the bytes of the body finds it', () => {
  for (let index = 0; index < 3_000; index++) {
    const [tag, value] = index % 3 === 0 ? ['card', cardOf(pick(CARDS))] : (([name, make]) => [name, make()])(pick(SECRETS));
    const body = jsonBody({
      [random(next(9))]: random(next(40)),
      text: `${random(next(7))} ${value} ${random(next(7))}`,
      list: [next(1_000)],
    });
    assert.ok(notesOf(body)[0]?.includes(`${tag}: 1`), Buffer.from(body.bytes).toString());
  }
});

test('the time to search a long text for secrets is proportional to the length of the text, even if the text is made to slow the detectors down', () => {
  const parts = [
    '.eyJ',
    'eyJaaaaaaaa.eyJ',
    'a@',
    '@a.',
    'password=',
    'bearer ',
    '-----BEGIN PRIVATE KEY-----',
    '+1-1-',
    '(0',
    '4111 ',
    '://a:',
    'ghp_',
  ];
  const timeOf = (part: string, length: number): number => {
    const text = part.repeat(length / part.length);
    const start = process.cpuUsage();
    detect(text, ['secrets', 'cards', 'emails', 'phones']);
    const { user, system } = process.cpuUsage(start);
    return user + system;
  };
  for (const part of parts) {
    timeOf(part, 16_384);
    assert.ok(timeOf(part, 262_144) < 64 * Math.max(timeOf(part, 16_384), 5_000), part);
  }
});

test.run();
