import { providerLabel } from '../../integrations/provider-setup.ts';
import { CUSTOM_SENDER, signatureExample } from '../../integrations/signature-example.ts';
import { card, facts } from '../parts/facts.ts';
import { setupSteps } from '../parts/setup-steps.ts';
import { type Child, tags } from '../parts/tags.ts';

const { code, div, p, pre } = tags;

type Fields = { readonly provider?: unknown; readonly options?: unknown };

/** What the form of a new integration shows beside its fields, or what is wrong with its options. */
export type ProviderPreview =
  | { readonly panel: Child }
  | { readonly errors: readonly { readonly pointer: string; readonly message: string }[] };

const NEXT = 'The next page has the address and the secret. Then:';

/** Shows what a custom sender signs with the typed options, and what its headers are. */
const exampleCard = (options: unknown): ProviderPreview => {
  const example = signatureExample(options);
  if ('errors' in example) return example;
  const { secret, signed, headers } = example;
  return {
    panel: div(
      { class: 'stack' },
      card(
        'What the sender signs',
        p({ role: 'status', class: 'quiet' }, 'An example with the secret ', code(null, secret), ':'),
        pre({ class: 'below', 'data-signed': '' }, signed),
        div({ class: 'below' }, facts(Object.fromEntries(headers.map(([name, value]) => [name, code(null, value ?? 'the signature')])))),
      ),
      card('After that', p(null, NEXT), setupSteps(CUSTOM_SENDER)),
    ),
  };
};

/** Renders what follows after a provider is connected and, for a custom sender, an example of what it signs. */
export const providerPreview = ({ provider, options }: Fields): ProviderPreview => {
  if (typeof provider !== 'string' || provider === '')
    return { panel: p({ class: 'quiet', role: 'status' }, 'Choose a provider to see its steps here.') };
  if (provider === CUSTOM_SENDER) return exampleCard(options);
  return {
    panel: card(`Connect ${providerLabel(provider)}`, p({ role: 'status' }, NEXT), setupSteps(provider)),
  };
};
