// Prints functions with their addresses, then its own mappings.
#include <stdio.h>

__attribute__((noinline)) static int hidden(int n) { return n * 3 + 1; }
__attribute__((noinline)) int exported(int n) { return hidden(n) + 2; }
int alias(int n) __attribute__((alias("exported")));
int __alias(int n) __attribute__((alias("exported")));
static int a_local(int n) __attribute__((alias("exported"), used));
int bare(void);
__asm__(".text\n.globl bare\n.type bare, @function\nbare:\n\tmov $7, %eax\n\tret\n"
        ".globl after\n.type after, @function\nafter:\n\tret\n\t.size after, .-after\n");

int main(int argc, char **argv) {
	char line[512];
	printf("hidden %p\nalias %p\nbare %p\nmain %p\n", (void *)hidden, (void *)exported,
	       (void *)bare, (void *)main);
	FILE *maps = fopen("/proc/self/maps", "r");
	while (maps && fgets(line, sizeof line, maps))
		fputs(line, stdout);
	return exported(argc) + alias(argc) + bare() == 0;
}
