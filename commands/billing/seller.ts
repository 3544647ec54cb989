import * as Seller from '../../domain/billing/seller.ts';
import { PLATFORM } from '../../domain/event.ts';
import * as User from '../../domain/identity/user.ts';
import { Refusal } from '../../domain/refusal.ts';
import type { Ctx, Loaded } from '../context.ts';
import { type PaymentProvider, requireProvider } from './payment-provider.ts';

/** @throws Refusal forbidden if the caller is not a user, or uses an API key with a lower role than that of its owner */
const sellerIdOf = ({ principal }: Ctx): string => {
  if (principal.kind !== 'user') throw new Refusal('forbidden', 'Only a user can be a seller: use the credential of a user');
  if (principal.max_role !== undefined && principal.max_role !== 'OWNER')
    throw new Refusal('forbidden', 'The role of this API key is limited: use one without a limit');
  return principal.user_id;
};

/** @throws Refusal forbidden */
export const readSeller = (ctx: Ctx): Promise<Loaded<Seller.Seller>> => ctx.load(Seller, sellerIdOf(ctx));

/** @throws Refusal forbidden */
export const assertSeller = async (ctx: Ctx): Promise<void> => void sellerIdOf(ctx);

/** The first call creates the user's account at the provider. @throws Refusal forbidden, not_configured, unavailable, bad_gateway */
export const startSellerOnboarding =
  (maybeProvider: PaymentProvider | null) =>
  async (ctx: Ctx): Promise<Loaded<{ url: string }>> => {
    const user_id = sellerIdOf(ctx);
    const provider = requireProvider(maybeProvider);
    const { payment_account_id } = (await ctx.load(Seller, user_id)).state;
    const { email } = (await ctx.load(User, user_id)).state;
    // Two first calls at the same time send the same key, so the provider creates only one account.
    const idempotencyKey = ctx.secrets.uniqueId('seller account', user_id, 0, PLATFORM);
    const account_id = payment_account_id ?? (await provider.createAccount({ user_id, email, idempotencyKey }));
    const url = await provider.createOnboardingLink({ account_id, returnUrl: ctx.publicUrl, idempotencyKey: ctx.newId() });
    const loaded = await ctx.transact(Seller, user_id, Seller.startOnboarding(account_id));
    return { ...loaded, state: { url } };
  };
