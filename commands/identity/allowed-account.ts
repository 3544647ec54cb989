import { z } from 'zod';
import { PLATFORM } from '../../domain/event.ts';
import { Email } from '../../domain/fields.ts';
import * as AllowedAccount from '../../domain/identity/allowed-account.ts';
import type { Ctx, Input, UsesSecrets } from '../context.ts';
import { createUnique } from '../create-unique.ts';

export const AllowedAccountCreate = z
  .strictObject({ email: Email.meta({ examples: ['ada@example.com'] }) })
  .meta({ id: 'AllowedAccountCreate' });

const KIND = 'allowed-account';

/** @throws Refusal conflict if the e-mail address is already allowed */
export const allowAccount = (ctx: Ctx, { email }: Input<typeof AllowedAccountCreate>) => {
  const address = email.toLowerCase();
  return createUnique(ctx, AllowedAccount, {
    kind: KIND,
    key: address,
    claim: (generation) => AllowedAccount.allow(address, generation),
    isClosed: ({ status }) => status === 'disallowed',
  });
};

/** @throws Refusal not_found if the address is not allowed */
export const disallowAccount = (ctx: Ctx, { id }: { id: string }) => ctx.transact(AllowedAccount, id, AllowedAccount.disallow);

export const isAllowedAccount = async (ctx: Pick<Ctx, 'load'> & UsesSecrets<'uniqueId'>, email: string): Promise<boolean> => {
  for (let generation = 0; ; generation++) {
    const { state } = await ctx.load(AllowedAccount, ctx.secrets.uniqueId(KIND, email.toLowerCase(), generation, PLATFORM));
    if (state.status !== 'disallowed') return state.status === 'allowed';
  }
};
