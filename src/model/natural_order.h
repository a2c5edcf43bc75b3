/* The order in which people expect names with numbers: gpu2 before gpu10. */
#ifndef MODEL_NATURAL_ORDER_H
#define MODEL_NATURAL_ORDER_H

#include "core/text.h"

/*
 * -1, 0, 1: a total order over texts. Digits that stand together count as a number of any length, letters
 * without regard to case; where two texts are alike in that sense (gpu1, gpu01, GPU1) their bytes decide. An
 * absent text comes last.
 */
int natural_compare(struct text a, struct text b);

#endif
