import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { checkClamav } from '../../infra/health/clamav-check.ts';
import { startClamavServer } from '../fixtures/clamav-server.ts';

const FAILURE = {
  level: 'fail',
  message: 'ClamAV does not answer',
  advice: 'start clamd with TCPSocket, or correct CLAMAV_URL',
};

test('doctor skips the check of ClamAV if CLAMAV_URL is not set', async () =>
  assert.is((await checkClamav({ clamavUrl: undefined })).level, 'none'));

test('the check of ClamAV passes if clamd answers a ping; it fails with advice if clamd closes the connection or does not run', async () => {
  const clamd = await startClamavServer();
  assert.equal(await checkClamav({ clamavUrl: clamd.address }), { level: 'ok', message: 'ClamAV answers', advice: null });
  clamd.silence(true);
  assert.equal(await checkClamav({ clamavUrl: clamd.address }), FAILURE);
  await clamd.close();
  assert.equal(await checkClamav({ clamavUrl: clamd.address }), FAILURE);
});

test('the check of ClamAV fails with advice if another service answers, or if nothing answers the ping in time', async () => {
  const other = createServer((socket) => socket.end('SSH-2.0-OpenSSH\r\n')).listen(0, '127.0.0.1');
  const silent = createServer(() => {}).listen(0, '127.0.0.1');
  await Promise.all([once(other, 'listening'), once(silent, 'listening')]);
  for (const server of [other, silent])
    assert.equal(await checkClamav({ clamavUrl: { host: '127.0.0.1', port: (server.address() as AddressInfo).port } }), FAILURE);
  other.close();
  silent.close();
});

test.run();
