import * as Integration from '../../domain/integrations/integration.ts';
import { PROVIDER_DEFINITIONS, type Provider } from '../../domain/integrations/provider.ts';
import { createSecret } from '../../domain/integrations/provider-secret.ts';
import { secret } from '../../domain/secret.ts';
import type { Ctx } from '../context.ts';
import { secretLocation } from './integration.ts';

const settingsOf = (provider: Provider, agent_id: string) => {
  const source = { provider, delivery_id_source: null, options: {} };
  return {
    ...source,
    agent_id,
    label: PROVIDER_DEFINITIONS[provider].label,
    event_filter: [],
    replay_guard: Integration.defaultReplayGuard(source),
  };
};

/**
 * Creates an integration for an agent with a connected account, unless the agent has one that is not disconnected. The secret is never
 * shown: a person must rotate it to see a new one, or to set the provider's.
 */
export const ensureIntegration = async (ctx: Ctx, agent_id: string, provider: Provider): Promise<void> => {
  for (let generation = 0; ; generation++) {
    const id = ctx.secrets.uniqueId('integration of account', `${agent_id} ${provider}`, generation);
    const { state } = await ctx.load(Integration, id);
    if (state.status === 'disconnected') continue;
    if (state.status === 'connected') return;
    const plaintext = createSecret(provider, ctx.secrets.random);
    const sealed_secret = await ctx.secrets.seal(secretLocation(ctx.tenant, id), secret(plaintext));
    const sealed = { sealed_secret, secret_hint: Integration.secretHint(plaintext) };
    const connection = { ...settingsOf(provider, agent_id), ...sealed, tenant_id: ctx.tenant };
    await ctx.transact(Integration, id, (now) => (now.status === 'absent' ? Integration.connect(connection)(now) : []), {
      expectNew: true,
    });
    return;
  }
};
