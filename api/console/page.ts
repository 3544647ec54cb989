import type { Answer } from '../http/ask.ts';
import type { IconName } from './parts/icon.ts';
import type { Child } from './parts/tags.ts';
import type { Counts, Visit } from './visit.ts';

/** The answers to the API calls of a page; null for a call that was not made. */
type Answers = Readonly<Record<string, Answer<unknown> | null>>;
type Calls<T extends Answers> = { readonly [Name in keyof T]: Promise<T[Name]> };

type PageOf<T extends Answers> = {
  readonly path: string;
  /**
   * The permission that a visitor needs: a permission on the tenant, `platform`, or `any` for a page that every visitor
   * may open.
   */
  readonly permit: string;
  /** The navigation entry that is highlighted while the page is shown. */
  readonly nav: string;
  /** The stream categories whose events change the page; `*` for all categories. A function says which do for a visit. */
  readonly categories?: readonly string[] | '*' | ((visit: Visit) => readonly string[]);
  /**
   * Set if the page shows values that no event changes, such as whether a runner is connected. The page is then
   * requested every two seconds, also if it has `categories`. A function says whether it shows such values now.
   */
  readonly polls?: true | ((answers: T) => boolean);
  /**
   * Set if the page cannot show a past time: what has no past, such as `Deliveries`. At a past time, the page then says so
   * and makes no API calls.
   */
  readonly withoutPast?: string;
  /**
   * Starts the API calls of the page. If the first of them is answered with 403 or 404, the visitor gets the 404 page.
   */
  readonly asks: (visit: Visit) => Calls<T>;
  /**
   * Returns the page to show if the first call is answered with 404, such as the page of a deleted resource. If it is
   * absent or returns null, the visitor gets the 404 page.
   */
  readonly whenMissing?: (visit: Visit) => Promise<{ readonly title: string; readonly content: readonly Child[] } | null>;
  /**
   * Returns what to show below the problem if the API cannot say who the visitor is, because a part of the platform is
   * down. The API calls that it makes are authorized like all others.
   */
  readonly whenDown?: (visit: Visit) => Promise<readonly Child[]>;
  readonly title: (answers: T, visit: Visit) => string;
  /**
   * Returns the breadcrumbs: the names and paths of the pages above this page. The answers are null if the first call was
   * answered with 404.
   */
  readonly trail?: (visit: Visit, answers: NoInfer<T> | null) => readonly (readonly [string, string])[];
  readonly view: (answers: T, visit: Visit) => readonly Child[];
};

export type Page = PageOf<Answers>;

/** The answer to a call that a page does not make. */
export const NOT_ASKED: Promise<null> = Promise.resolve(null);

/** Defines a page: its API calls, and how it shows their answers. */
export const page = <T extends Answers>(row: PageOf<T>): Page => row as unknown as Page;

/** An entry of the navigation. */
export type NavEntry = {
  readonly label: string;
  readonly icon: IconName;
  readonly path: string;
  readonly permit: string;
  /** The keys that open the page, for example `g d`. */
  readonly hotkey: string;
  /** The number beside the label, and what screen readers say after it. From `max` on, the API counts no further. */
  readonly count?: { readonly of: keyof Counts; readonly words: string; readonly max?: number };
};
