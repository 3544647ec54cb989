import type { Answer } from '../http/ask.ts';
import type { IconName } from './parts/icon.ts';
import type { Child } from './parts/tags.ts';
import type { Visit } from './visit.ts';

/** The answers of a page's calls; null if a call was not made. */
type Answers = Readonly<Record<string, Answer<unknown> | null>>;
type Calls<T extends Answers> = { readonly [Name in keyof T]: Promise<T[Name]> };

type PageOf<T extends Answers> = {
  readonly path: string;
  /**
   * The permission that the page needs: one on the tenant, `platform`, or `any` for a page that every visitor may open.
   */
  readonly permit: string;
  /** The navigation entry that is highlighted for the page. */
  readonly nav: string;
  /** The stream categories whose events change the page; `*` for all of them. */
  readonly categories?: readonly string[] | '*';
  /** Whether the page shows values that no event changes. The page then requests them again every two seconds. */
  readonly polls?: true;
  /** Starts the calls of the page. If the first one answers 403 or 404, the visitor gets the 404 page. */
  readonly asks: (visit: Visit) => Calls<T>;
  readonly title: (answers: T, visit: Visit) => string;
  /** Returns the breadcrumbs: names and paths of the pages above this one. */
  readonly trail?: (visit: Visit) => readonly (readonly [string, string])[];
  readonly view: (answers: T, visit: Visit) => readonly Child[];
};

export type Page = PageOf<Answers>;

/** Defines a page: the API calls that it makes, and the view of their answers. */
export const page = <T extends Answers>(row: PageOf<T>): Page => row as unknown as Page;

/** An entry of the navigation. */
export type NavEntry = {
  readonly label: string;
  readonly icon: IconName;
  readonly path: string;
  readonly permit: string;
  readonly hotkey?: string;
};
