// limit: 180 s for this file (test/run.ts)

import { verify } from 'node:crypto';
import { join } from 'node:path';
import { test } from 'uvu';
import { equal, is, match, ok } from 'uvu/assert';
import * as AuditKey from '../../domain/audit/audit-key.ts';
import { openSigningKey } from '../../infra/audit/signing-key.ts';
import { openLog } from '../../infra/eventstore/client.ts';
import { openVault } from '../../infra/vault/vault.ts';
import type { RunningPlatform } from '../faults/running-platform.ts';
import { mainFile, startProgram, unconfiguredEnvironment } from '../fixtures/child-process.ts';
import { runningPlatform } from '../fixtures/running-platform.ts';

const onPlatform = runningPlatform();

type Key = { readonly key_id: string; readonly public_key: string; readonly cross_signature: string | null };

const rotate = async (platform: RunningPlatform) => {
  const env = { ...unconfiguredEnvironment(), ANNALS_DATA: platform.data };
  const running = startProgram(process.execPath, [mainFile, 'audit', 'rotate-key'], { env });
  return { code: await running.ended, output: running.output() };
};

const keysIn = async (log: ReturnType<typeof openLog>): Promise<Key[]> =>
  (await Array.fromAsync(log.read('auditkey-platform.signing'))).map(({ data }) => data as Key);

const hasSigned = ({ public_key }: Key, text: string, signature: string): boolean =>
  verify(
    null,
    Buffer.from(text),
    { key: { kty: 'OKP', crv: 'Ed25519', x: public_key }, format: 'jwk' },
    Buffer.from(signature, 'base64url'),
  );

test('after two runs of annals audit rotate-key, each key signs the next one, and the newest signs new heads', () =>
  onPlatform(async (platform) => {
    const log = openLog(platform.serviceVariables().EVENTSTORE_URL!);
    try {
      const deps = { log, vault: await openVault({ log, masterKeyFile: join(platform.data, 'master.key') }) };
      const { key_id: first } = (await openSigningKey(deps))('text');
      for (const before of [first, null]) {
        const { code, output } = await rotate(platform);
        is(code, 0, output);
        if (before) match(output, new RegExp(`^the key ${before} has signed it`, 'm'));
      }
      const [one, two, three] = await keysIn(log);
      equal([one!.key_id, one!.cross_signature], [first, null]);
      ok(hasSigned(one!, AuditKey.keyText(two!), two!.cross_signature!));
      ok(hasSigned(two!, AuditKey.keyText(three!), three!.cross_signature!));
      const { signature, key_id } = (await openSigningKey(deps))('text');
      is(key_id, three!.key_id);
      ok(hasSigned(three!, 'text', signature));
    } finally {
      await log.close();
    }
  }));

test.run();
