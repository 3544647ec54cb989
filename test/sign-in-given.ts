import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { inMemory } from './in-memory.ts';
import { CLIENT, type Issuer, startIssuer } from './issuer.ts';

export const SOMEBODY = 'somebody@example.com';

export type Stage = { readonly p: Awaited<ReturnType<typeof inMemory>>; readonly issuer: Issuer };

/** A test on a platform whose issuer is a real provider beside it. */
export const staged = (name: string, act: (stage: Stage) => Promise<void>) =>
  test(name, async () => {
    const issuer = await startIssuer();
    const p = await inMemory({
      issuer: { oidcIssuer: issuer.url, oidcClientId: CLIENT.id, oidcClientSecret: CLIENT.secret },
    });
    try {
      await act({ p, issuer });
      assert.equal(p.unapplied(), []);
    } finally {
      await p.close();
      await issuer.close();
    }
  });

/** Lets an address sign in. */
export const allow = ({ p }: Stage, email = SOMEBODY) => p.send('POST', '/admin/allowed-accounts', { body: { email } });
