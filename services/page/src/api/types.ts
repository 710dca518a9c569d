/** The service's types under short names; `openapi.d.ts` is generated from its description. */

import type { components } from "./openapi";

type Schemas = components["schemas"];

export type Answer = Schemas["AnswerBody"];
export type Citation = Schemas["CitationBody"];
export type Passage = Schemas["PassageBody"];
export type Place = Schemas["PlaceBody"];
export type Relation = Schemas["EdgeBody"];
export type GraphPage = Schemas["GraphPageBody"];
export type GraphSummary = Schemas["GraphSummaryBody"];
export type DocumentPage = Schemas["DocumentPageBody"];
export type ListedDocument = Schemas["ListedDocumentBody"];
export type DocumentStatus = Schemas["DocumentStatusBody"];
export type RelatedList = Schemas["RelatedList"];
export type Fact = Schemas["StatedFactBody"];
export type EntityPage = Schemas["EntityPageBody"];
export type ListedEntity = Schemas["ListedEntityBody"];
export type EntityDetails = Schemas["EntityDetailsBody"];
export type Neighbourhood = Schemas["NeighbourhoodBody"];
export type NeighbourNode = Schemas["NeighbourNodeBody"];
export type NeighbourEdge = Schemas["NeighbourEdgeBody"];
export type CommunityPage = Schemas["CommunityPageBody"];
export type CommunitySummary = Schemas["CommunitySummaryBody"];
export type CommunityDetails = Schemas["CommunityDetailsBody"];
export type Report = Schemas["ReportBody"];
export type Stats = Schemas["StatsBody"];
export type Health = Schemas["HealthBody"];
export type Letter = Schemas["LetterBody"];
export type LetterList = Schemas["LetterListBody"];
export type Receipt = Schemas["TokenBody"];
export type BatchReceipt = Schemas["BatchReceipt"];
export type TokenState = Schemas["TokenStateBody"];
export type QuestionPage = Schemas["QuestionPageBody"];
export type StandingQuestion = Schemas["StandingQuestionReply"];
export type DocumentState = ListedDocument["state"];

/** The fields of an answer that arrive before its text. */
export type AnswerContext = Omit<Answer, "answer">;

/** A step of a retrieval, as `explain` returns it. */
export interface TraceStep {
  readonly step: string;
  readonly about: string;
  readonly items: readonly TraceItem[];
}

export interface TraceItem {
  readonly id: string;
  readonly name: string;
  readonly score: number;
  readonly parts: Readonly<Record<string, number>>;
}

/** A change of the evidence of a standing question. */
export interface StandingEvent {
  readonly seq: number;
  readonly version: number;
  readonly causes: readonly { readonly doc_id: string; readonly revision: number }[];
  readonly entered: readonly { readonly doc_id: string; readonly title: string }[];
  readonly left: readonly { readonly doc_id: string; readonly title: string }[];
  readonly answer: string;
}

/** One commit of a graph, an event of `/changes`. */
export interface Change {
  readonly token: string;
  readonly version: number;
  readonly committed_at?: string;
  readonly documents?: readonly { readonly id: string; readonly revision: number; readonly state: string }[];
  readonly entities?: Difference<ChangedEntity>;
  readonly relations?: Difference<ChangedRelation>;
  readonly merges?: readonly Merged[];
  readonly splits?: readonly unknown[];
  readonly rebuilt?: boolean;
}

export interface Difference<T> {
  readonly added?: readonly T[];
  readonly changed?: readonly T[];
  readonly removed?: readonly T[];
}

export interface ChangedEntity {
  readonly id: string;
  readonly name: string;
}

export interface ChangedRelation {
  readonly id: string;
  readonly predicate: string;
  readonly subject_name: string;
  readonly object_name: string;
}

export interface Merged {
  readonly into: string;
  readonly name: string;
  readonly evidence?: readonly { readonly a: string; readonly b: string; readonly rule: string; readonly score: number }[];
}
