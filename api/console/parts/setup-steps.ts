import { setupOf } from '../../integrations/provider-setup.ts';
import { tags } from './tags.ts';

const { ol, li } = tags;

/** Renders the steps that connect a provider with the URL of an integration. */
export const setupSteps = (provider: string) => ol({ class: 'setup-steps' }, ...setupOf(provider).map((step) => li(null, step)));
