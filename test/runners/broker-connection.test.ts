import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { keepConnected } from '../../infra/runner/broker-connection.ts';
import { createOutageReport } from '../../infra/runner/outage-report.ts';

test('a closed connection to the broker asks for no further credential', async () => {
  let issued = 0;
  const issue = async (): Promise<never> => {
    issued++;
    throw new Error('no broker');
  };
  const outage = createOutageReport(() => {}, '');
  const connection = keepConnected({ issue, retry: (work) => work(), onRenewed: () => {}, outage, lingerMs: 0 });
  await connection.close();
  const reason = await connection.get().then(
    () => '',
    ({ message }: Error) => message,
  );
  assert.equal([issued, reason], [0, 'the connection to the broker is closed']);
});

test.run();
