import { z } from 'zod';
import { endOwnSignIn, signInOwner, signOut } from '../../commands/identity/sign-in.ts';
import { PLATFORM } from '../../domain/event.ts';
import * as ApiKey from '../../domain/identity/api-key.ts';
import { signInPage } from '../../projections/identity/sign-in.queries.ts';
import { SignInRead, signIns } from '../../projections/identity/sign-in.ts';
import type { PageWindow } from '../../projections/read-model.ts';
import { type Ctx, operation } from '../http/operation.ts';
import { listQuery, windowOf } from '../http/paging.ts';

const SIGN_INS = '/me/sign-ins';
const NOTE = 'Requires the credential of a user. An API key that is limited to a tenant sees and ends only the sign-ins made with it.';

type Row = Omit<z.output<typeof SignInRead>, 'is_current'>;

const currentOf = ({ principal }: Ctx): string | undefined => (principal.kind === 'user' ? principal.sign_in_id : undefined);

/**
 * Returns whether the API key of a sign-in is still valid; true if the sign-in was made without one. A sign-in with an
 * API key ends with the key.
 */
const hasValidKey = async (ctx: Ctx, { key_id }: Row): Promise<boolean> =>
  key_id === null || (await ctx.load(ApiKey, key_id, { tenant: PLATFORM })).state.status === 'active';

/** Returns a page of the caller's active sign-ins as JSON. */
const readSignIns = async (ctx: Ctx, window: PageWindow) => {
  const { body, next } = await signInPage(ctx.reads, { ...signInOwner(ctx), at: ctx.at() }, window);
  const rows = JSON.parse(body) as Row[];
  const valid = await Promise.all(rows.map((row) => hasValidKey(ctx, row)));
  const current = currentOf(ctx);
  const active = rows.filter((_, n) => valid[n]).map((row) => SignInRead.parse({ ...row, is_current: row.id === current }));
  return { rows: active, next };
};

const PAGE = { sort: { column: 'created_at', descending: true }, limit: 200 };

/** Ends all sign-ins of the caller, except the one that this request uses. */
const endOthers = async (ctx: Ctx) => {
  // Very recent sign-ins must end, too, so the read model must contain them.
  const end = await ctx.log.logEnd();
  if (end) await ctx.reads.passed(signIns.name, end);
  const current = currentOf(ctx);
  let cursor: string | null | undefined;
  do {
    const { rows, next } = await readSignIns(ctx, { ...PAGE, cursor });
    for (const { id } of rows) if (id !== current) await signOut(ctx, id);
    cursor = next;
  } while (cursor !== null);
  return { id: ctx.actor.id, revision: -1, position: null, state: null };
};

export const mySignInOperations = {
  listMySignIns: operation({
    method: 'get',
    path: SIGN_INS,
    summary: 'List the sign-ins of the caller',
    details: 'The active sign-ins of the console. Ended and expired ones are in the audit log of the platform.',
    permit: 'any',
    permissionNote: NOTE,
    query: listQuery({}),
    reply: z.array(SignInRead),
    projection: signIns.name,
    noETag: true,
    run: async (ctx, window) => {
      const { rows, next } = await readSignIns(ctx, windowOf(window));
      return { body: JSON.stringify(rows), next };
    },
  }),
  endOtherSignIns: operation({
    method: 'delete',
    path: SIGN_INS,
    summary: 'Sign the caller out of all other browsers',
    details: 'Ends all sign-ins of the caller but the one of this request. Their cookies are refused at once.',
    permit: 'any',
    permissionNote: NOTE,
    noETag: true,
    run: endOthers,
  }),
  endMySignIn: operation({
    method: 'delete',
    path: `${SIGN_INS}/:id`,
    summary: 'Sign the caller out of a browser',
    details: 'Its cookie is refused at once. 404 for a sign-in of another user, and for one that has ended.',
    permit: 'any',
    permissionNote: NOTE,
    noETag: true,
    run: (ctx, { id }) => endOwnSignIn(ctx, id),
  }),
};
