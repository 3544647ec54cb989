import { generateKeyPairSync } from 'node:crypto';
import { createTransport } from 'nodemailer';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { checkSender } from '../../infra/mail/check-sender.ts';

const { publicKey, privateKey } = generateKeyPairSync('rsa', {
  modulusLength: 2_048,
  publicKeyEncoding: { type: 'spki', format: 'der' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
});
const RECORDS: Readonly<Record<string, string>> = {
  'TXT example.com': 'v=spf1 ip4:192.0.2.1 -all',
  'TXT key._domainkey.example.com': `v=DKIM1; k=rsa; p=${publicKey.toString('base64')}`,
  'TXT _dmarc.example.com': 'v=DMARC1; p=reject',
};

const failWith = (code: string): never => {
  throw Object.assign(new Error(code), { code });
};

/** A resolver that knows only these records. */
const resolver = async (name: string, type: string): Promise<string[][]> => {
  const record = RECORDS[`${type} ${name}`];
  return record === undefined ? failWith('ENOTFOUND') : [[record]];
};

const build = async (from: string, options: object = {}): Promise<Buffer> => {
  const transport = createTransport({ streamTransport: true, buffer: true, newline: 'windows', ...options } as object);
  const built = await transport.sendMail({ from, to: 'agent@mail.test', subject: 'Hello', text: 'The text' });
  return (built as unknown as { message: Buffer }).message;
};
const signed = await build('ada@example.com', { dkim: { domainName: 'example.com', keySelector: 'key', privateKey } });
const forged = Buffer.from(signed.toString().replace('The text', 'Another text'));
const envelope = { ip: '192.0.2.1', helo: 'mx.example.com', sender: 'ada@example.com', mta: 'mail.test' };

test('a message that is signed and sent from an address of its domain passes all three checks', async () => {
  assert.equal(await checkSender(signed, envelope, { resolver }), { spf: 'pass', dkim: 'pass', dmarc: 'pass' });
});

test('a signed message from another address passes by its signature; a message without a signature passes by its address', async () => {
  const elsewhere = { ...envelope, ip: '198.51.100.7' };
  assert.equal(await checkSender(signed, elsewhere, { resolver }), { spf: 'fail', dkim: 'pass', dmarc: 'pass' });
  assert.equal(await checkSender(await build('ada@example.com'), envelope, { resolver }), { spf: 'pass', dkim: 'none', dmarc: 'pass' });
});

test('a message that was changed after it was signed, and comes from another address, fails all three checks', async () => {
  const { dkim, ...rest } = await checkSender(forged, { ...envelope, ip: '198.51.100.7' }, { resolver });
  assert.equal(rest, { spf: 'fail', dmarc: 'fail' });
  assert.ok(['fail', 'neutral'].includes(dkim), dkim);
});

test('a message from a domain without records has the result none for all three checks', async () => {
  const sender = 'bob@nothing.example';
  assert.equal(await checkSender(await build(sender), { ...envelope, sender, helo: 'x.example' }, { resolver }), {
    spf: 'none',
    dkim: 'none',
    dmarc: 'none',
  });
});

test('if the DNS fails or does not answer in time, the result is temperror, and the message is not taken for a forged one', async () => {
  const failing = await checkSender(signed, envelope, { resolver: async () => failWith('ETIMEOUT') });
  assert.equal([failing.spf, failing.dkim], ['temperror', 'temperror']);
  assert.ok(['temperror', 'none'].includes(failing.dmarc), failing.dmarc);
  // The limit does not keep a process running, so a timer does.
  const silentResolver = () => new Promise<never>((resolve) => setTimeout(resolve as () => void, 1_000));
  const silent = await checkSender(signed, envelope, { resolver: silentResolver, timeoutMs: 50 });
  assert.equal(silent, { spf: 'temperror', dkim: 'temperror', dmarc: 'temperror' });
});

test.run();
