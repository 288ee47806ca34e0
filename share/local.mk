# what is installed beside the program
