import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { SMTPServer } from 'smtp-server';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { checkMailReceiver, checkSmtp } from '../../infra/health/smtp-check.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';

const server = new SMTPServer({
  authOptional: false,
  allowInsecureAuth: true,
  hideSTARTTLS: true,
  onAuth: ({ username, password }, _, done) =>
    username === 'annals' && password === 'right' ? done(null, { user: username }) : done(new Error('wrong password')),
});
server.listen(0, '127.0.0.1');
await new Promise<void>((resolve) => server.server.once('listening', () => resolve()));
const { port } = server.server.address() as AddressInfo;
const urlOf = (password: string) => `smtp://annals:${password}@127.0.0.1:${port}`;

test('doctor skips the check of mail if neither SMTP_URL nor SMTP_LISTEN is set', async () => {
  assert.is((await checkSmtp({ smtpUrl: undefined })).level, 'none');
  assert.is((await checkMailReceiver({ smtpListen: undefined })).level, 'none');
});

test('if the mail server accepts the user and the password, the check of mail passes', async () =>
  assert.equal(await checkSmtp({ smtpUrl: urlOf('right') }), {
    level: 'ok',
    message: `127.0.0.1:${port} accepts mail from this platform`,
    advice: null,
  }));

test('if the mail server refuses the password, the check of mail fails, and its output does not contain the password', async () => {
  const { level, message, advice } = await checkSmtp({ smtpUrl: urlOf('wrong-secret') });
  assert.equal([level, advice], ['fail', 'correct the user and the password in SMTP_URL']);
  assert.not.match(message, 'wrong-secret');
});

test('if no mail server answers, the check of mail fails and gives advice', async () => {
  const { level, message, advice } = await checkSmtp({ smtpUrl: 'smtp://127.0.0.1:1' });
  assert.equal([level, message], ['fail', 'the mail server does not answer']);
  assert.match(advice!, 'SMTP_URL');
});

test('the check of mail passes if a mail receiver greets at SMTP_LISTEN; it fails if nothing or another service listens there', async () => {
  assert.is((await checkMailReceiver({ smtpListen: { host: '127.0.0.1', port } })).level, 'ok');
  assert.is((await checkMailReceiver({ smtpListen: { host: '127.0.0.1', port: 1 } })).level, 'fail');
  const other = createServer((socket) => socket.end('SSH-2.0-OpenSSH\r\n'));
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  const found = await checkMailReceiver({ smtpListen: { host: '127.0.0.1', port: (other.address() as AddressInfo).port } });
  assert.equal([found.level, found.advice], ['fail', 'correct SMTP_LISTEN']);
  other.close();
});

afterLastTest(() => new Promise<void>((resolve) => server.close(() => resolve())));

test.run();
