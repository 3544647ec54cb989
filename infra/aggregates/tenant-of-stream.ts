import { PLATFORM } from '../../domain/event.ts';

type AnyStream = { readonly platform?: boolean; readonly category: string };

/** The tenant in the stream's name: PLATFORM for an aggregate of the platform, otherwise by default that of the context. */
export const tenantOf = (current: string, { platform }: AnyStream, tenant = current): string => (platform ? PLATFORM : tenant);

/** Does the same as `tenantOf`, but without a given tenant, a stream of the category `tenant` belongs to the tenant with its id. */
export const tenantToLoad = (current: string, aggregate: AnyStream, id: string, tenant?: string): string =>
  tenantOf(current, aggregate, tenant ?? (aggregate.category === 'tenant' ? id : undefined));
