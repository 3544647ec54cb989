import { PLATFORM } from '../../domain/event.ts';

type AnyStream = { readonly platform?: boolean; readonly category: string };

/**
 * Returns the tenant in the name of an aggregate's stream: by default `current`, the tenant of the context. It is
 * PLATFORM for an aggregate of the platform.
 */
export const tenantOf = (current: string, { platform }: AnyStream, tenant = current): string => (platform ? PLATFORM : tenant);

/**
 * Returns the same as `tenantOf`, with one exception: if no tenant is given, a stream of the category `tenant` belongs
 * to the tenant whose id is that of the stream.
 */
export const tenantToLoad = (current: string, aggregate: AnyStream, id: string, tenant?: string): string =>
  tenantOf(current, aggregate, tenant ?? (aggregate.category === 'tenant' ? id : undefined));
