import { mayReadDeliveries } from './permission.ts';
import { tenantPath, type Visit } from './visit.ts';

/** The paths of the pages for types of resources, and who may open them. */
const PAGES: Readonly<Record<string, { readonly path: string; readonly isOpenTo: (visit: Visit) => boolean }>> = {
  agent: { path: '/agents', isOpenTo: () => true },
  delivery: { path: '/deliveries', isOpenTo: (visit) => mayReadDeliveries(visit) },
};

/**
 * Returns a function that returns the path of the page about a resource. If there is none, or the visitor may not open
 * it, the path is that of the audit entries about the resource.
 */
export const resourcePathFor =
  (visit: Visit) =>
  ({ type, id }: { readonly type: string; readonly id: string }): string => {
    const page = PAGES[type];
    return tenantPath(visit.params.tenant_id!, page?.isOpenTo(visit) ? `${page.path}/${id}` : `/audit?about=${id}`);
  };
